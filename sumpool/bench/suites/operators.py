"""Similarity of poolings to exact top-k on random vectors, and their time (Pietruszka et al., Appendix B.5).

The measure is their normalised chamfer cosine similarity: for each of the `keep` best-scored vectors the highest
cosine to any vector that is left, averaged. As in their benchmark vectors are drawn from U[-1, 1] with 32 features,
and scores from U[0, 1].
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.bench.config import OperatorsConfig
from sumpool.bench.measures.timing import Timing, interleave
from sumpool.bench.results.report import Result
from sumpool.bench.results.table import Row, where
from sumpool.bench.suites.operator_tables import (
    BY_DOCUMENT,
    HARD,
    LOOP,
    NEVER,
    ONCE,
    SHOWN,
    SORTED,
    STEPS,
    SUMS,
    operators_result,
)
from sumpool.bench.systems.workload import Conditions
from sumpool.core.pooling._base import top_k
from sumpool.core.pooling.halving import Peak, Sort, halve
from sumpool.core.pooling.iterative import WeightKind, iterate, step_weights, suffix_means
from sumpool.progress import Check, Progress, Report, go_on, silent

Pool = Callable[[Tensor, Tensor, int], Tensor]
"""Vectors (batch, length, dim), their scores (batch, length), and how many to keep: (batch, keep, dim)."""
ROWS = 8192
"""Best-scored vectors, about, that a similarity is averaged over."""
DRAWS = 16
"""Batches, at most, that a similarity is averaged over; 16 of 16 documents are as many as the authors draw."""
AT_ONCE = 2**24
"""Cosines, at most, that are computed at once."""
PATIENCE = 4
"""Times `seconds` that an operator may take once."""
SHARPNESS = 1.0
"""Factor in the softmax of iterative pooling where it is timed, as the authors set it."""


def measure_operators(
    settings: OperatorsConfig, conditions: Conditions, report: Report = silent, check: Check = go_on
) -> Result:
    """Measure every operator at every length and number kept, those of one cell in turns."""
    cells = [(length, keep) for length in sorted(set(settings.lengths)) for keep in _kept(length)]
    rows: list[Row] = []
    for done, (length, keep) in enumerate(cells, start=1):
        left_out = _too_long(rows, length, keep, PATIENCE * settings.seconds)
        rows += _measure(length, keep, settings, conditions, left_out, check)
        report(Progress("bench", done, len(cells), {"vectors": f"{length:,} to {keep:,}"}))
    crossings, sharpness = {}, list[Row]()
    for length in sorted(set(settings.lengths)):
        crossings[length] = _crossing(length, settings, conditions, check)
        sharpness += _by_sharpness(length, settings, conditions, check)
        report(
            Progress("bench", len(cells), len(cells), {f"vectors of {settings.model_dim:,} features": f"{length:,}"})
        )
    return operators_result(rows, settings.model_dim, crossings, sharpness)


def similarity(states: Tensor, scores: Tensor, left: Tensor) -> Tensor:
    """Compare the vectors that are left with exact top-k.

    Args:
        states: (batch, length, dim).
        scores: (batch, length).
        left: (batch, keep, dim).

    Returns:
        (batch,), in [-1, 1]; 1 where every one of the best vectors is left.
    """
    keep = left.size(1)
    best = scores.topk(keep).indices  # (batch, keep)
    target = F.normalize(states.gather(1, best[..., None].expand(-1, -1, states.size(2))), dim=-1)  # (batch, keep, dim)
    left = F.normalize(left, dim=-1).transpose(1, 2)  # (batch, dim, keep)
    parts = target.split(max(1, AT_ONCE // (len(left) * keep)), dim=1)
    return torch.cat([(part @ left).amax(-1) for part in parts], dim=1).mean(-1)


def _iterate(states: Tensor, scores: Tensor, keep: int, pool: Callable[..., Tensor]) -> Tensor:
    return pool(states, scores, torch.ones_like(scores, dtype=torch.bool), keep, SHARPNESS)


def _all_steps(states: Tensor, scores: Tensor, mask: Tensor, keep: int, sharpness: float) -> Tensor:
    return step_weights(scores, mask, *top_k(scores, mask, keep), sharpness) @ states


def _halve(states: Tensor, scores: Tensor, keep: int, sort: Sort, hard: bool = False) -> Tensor:
    mask = torch.ones_like(scores, dtype=torch.bool)
    return halve(scores, mask, keep, Peak(), hard, sort).mixture.combine(states)


def _by_document(states: Tensor, scores: Tensor, keep: int) -> Tensor:
    """Halve one document after the other, as the released code does."""
    pairs = zip(states.split(1), scores.split(1), strict=True)
    return torch.cat([_halve(*document, keep, "each_round") for document in pairs])


OPERATORS: Mapping[str, Pool] = {
    SORTED: partial(_halve, sort="each_round"),
    ONCE: partial(_halve, sort="once"),
    NEVER: partial(_halve, sort="never"),
    HARD: partial(_halve, sort="each_round", hard=True),
    BY_DOCUMENT: _by_document,
    LOOP: partial(_iterate, pool=iterate),
    STEPS: partial(_iterate, pool=_all_steps),
    SUMS: partial(_iterate, pool=suffix_means),
}


WEIGHTS: Mapping[WeightKind, Callable[[Tensor, Tensor, Tensor, int, float], Tensor]] = {
    "distance": _all_steps,
    "softmax": suffix_means,
}
"""Iterative pooling by the kind of its weights; takes vectors, scores, mask, how many to keep, and the sharpness."""


def _by_sharpness(length: int, settings: OperatorsConfig, conditions: Conditions, check: Check) -> Iterator[Row]:
    """Measure the similarity of iterative pooling by weights and sharpness, at the numbers kept that are printed."""
    kept = [*_kept(length)]
    with torch.inference_mode():
        for keep in (keep for keep in kept if keep in (*SHOWN, kept[-1])):
            draws = [*_draw(length, keep, settings.dim, min(settings.batch, max(1, ROWS // keep)), conditions)]
            mask = torch.ones_like(draws[0][1], dtype=torch.bool)
            for (weights, pool), sharpness in product(WEIGHTS.items(), dict.fromkeys(settings.sharpness)):
                check()
                similarities = [
                    similarity(states, scores, pool(states, scores, mask, keep, sharpness)) for states, scores in draws
                ]
                labels = {"length": length, "keep": keep, "weights": weights, "sharpness": sharpness}
                yield Row({**labels, "similarity": float(torch.cat(similarities).mean())})


def _kept(length: int) -> Iterator[int]:
    """Powers of two from 2 to half of the length."""
    return (2**power for power in range(1, int(math.log2(length // 2)) + 1))


def _too_long(rows: list[Row], length: int, keep: int, most: float) -> dict[str, str]:
    """Operators that are left out and why: the loop takes at most in proportion to length * keep."""
    last = next((row for row in reversed(where(rows, {"operator": LOOP})) if row.timing), None)
    predicted = last["fastest"] * (length * keep) / (last["length"] * last["keep"]) if last else 0.0
    return {LOOP: f"would take {predicted:.1f} s"} if predicted > most else {}


def _measure(
    length: int, keep: int, settings: OperatorsConfig, conditions: Conditions, left_out: Mapping[str, str], check: Check
) -> Iterator[Row]:
    """Measure all operators at one length and number kept."""
    pools = {name: pool for name, pool in OPERATORS.items() if name not in left_out}
    draws = list(_draw(length, keep, settings.dim, settings.batch, conditions))
    similarities = {}
    with torch.inference_mode():
        tasks = {name: partial(pool, *draws[0], keep) for name, pool in pools.items()}
        timings = interleave(tasks, settings.repeats, conditions.device, check, settings.seconds)
        for name, pool in pools.items():
            check()
            similarities[name] = _similarity(pool, draws, keep, timings[name], settings.seconds)
    sizes = {"length": length, "keep": keep, "batch": settings.batch, "rounds": math.ceil(math.log2(length / keep))}
    for name in OPERATORS:
        values = {"operator": name, **sizes, "similarity": similarities.get(name)}
        yield Row(values, timings.get(name), left_out.get(name, ""))


def _crossing(length: int, settings: OperatorsConfig, conditions: Conditions, check: Check) -> int | None:
    """Find the smallest number kept at which halving is faster than the loop, with the features of a model.

    The loop's time grows with the number kept and halving's does not, so that the first one is the answer.
    """
    with torch.inference_mode():
        for keep in _kept(length):
            states, scores = next(_draw(length, keep, settings.model_dim, settings.batch, conditions))
            tasks = {name: partial(OPERATORS[name], states, scores, keep) for name in (SORTED, LOOP)}
            timings = interleave(tasks, settings.repeats, conditions.device, check, settings.seconds)
            if timings[SORTED].fastest < timings[LOOP].fastest:
                return keep
    return None


def _draw(length: int, keep: int, dim: int, batch: int, conditions: Conditions) -> Iterator[tuple[Tensor, Tensor]]:
    """Draw as many batches as it takes for ROWS best-scored vectors."""
    generator = torch.Generator().manual_seed(conditions.seed)
    for _ in range(min(DRAWS, math.ceil(ROWS / (batch * keep)))):
        states = torch.rand(batch, length, dim, generator=generator) * 2 - 1
        scores = torch.rand(batch, length, generator=generator)
        yield states.to(conditions.device), scores.to(conditions.device)


def _similarity(pool: Pool, draws: list[tuple[Tensor, Tensor]], keep: int, timing: Timing, seconds: float) -> float:
    """Average over the draws, over as many as the time allows, and over about ROWS vectors of each."""
    documents = max(1, ROWS // keep)
    affordable = max(1, int(PATIENCE * seconds / max(timing.fastest, 1e-9)))
    similarities = [
        similarity(states[:documents], scores[:documents], pool(states[:documents], scores[:documents], keep))
        for states, scores in draws[:affordable]
    ]
    return float(torch.cat(similarities).mean())
