"""Similarity of poolings to exact top-k on random vectors, and their time (Pietruszka et al., Appendix B.5).

The measure is their normalised chamfer cosine similarity: for each of the `keep` best-scored vectors the highest
cosine to any vector that is left, averaged. As in their benchmark vectors are drawn from U[-1, 1] with 32 features,
and scores from U[0, 1].
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.bench.measures import interleave
from sumpool.bench.results import Column, Result, Row, unique, where
from sumpool.bench.workload import Conditions
from sumpool.core.pooling._base import top_k
from sumpool.core.pooling.halving import Peak, Sort, halve
from sumpool.core.pooling.iterative import iterate, step_weights
from sumpool.progress import Check
from sumpool.studies.config import OperatorsConfig
from sumpool.studies.study import Steps, make_table

SORTED = "halving, sorted each round"
ONCE = "halving, sorted once"
NEVER = "halving, never sorted"
BY_DOCUMENT = "halving, one document at a time"
LOOP = "iterative, as published"
STEPS = "iterative, all steps at once"
HARD = "hard top-k"
_HEADINGS = {
    SORTED: "sorted",
    ONCE: "once",
    NEVER: "never",
    BY_DOCUMENT: "one by one",
    HARD: "hard",
    LOOP: "loop",
    STEPS: "steps",
}
_LEGEND = "; ".join(f"{heading}: {name}" for name, heading in _HEADINGS.items())

# Vectors, then kept: similarity of the authors' code, from their own CSV.
PUBLISHED: Mapping[int, Mapping[int, float]] = {
    128: {2: 0.898, 32: 0.985, 64: 0.984},
    512: {2: 0.698, 32: 0.970, 128: 0.986, 256: 0.985},
    2048: {2: 0.412, 32: 0.921, 128: 0.971, 512: 0.986, 1024: 0.986},
    8192: {2: 0.234, 32: 0.715, 128: 0.924, 512: 0.971, 2048: 0.987},
}
SHOWN = (2, 32, 128, 512, 2048)
"""Numbers kept that are printed, beside half of the vectors."""

Cells = Mapping[tuple[int, int], Mapping[str, Row]]
"""Rows by (vectors, kept), then operator."""
ROWS = 8192
"""Best-scored vectors, about, that a similarity is averaged over."""
DRAWS = 16
"""Batches, at most, that a similarity is averaged over; 16 of 16 documents are as many as the authors draw."""
PATIENCE = 4
"""Times `seconds` that an operator may take once."""
SHARPNESS = 1.0
"""Factor in the softmax of iterative pooling where it is timed, as the authors set it."""

Pool = Callable[[Tensor, Tensor, int], Tensor]
"""Vectors (batch, length, dim), their scores (batch, length), and how many to keep: (batch, keep, dim)."""
AT_ONCE = 2**24
"""Cosines, at most, that are computed at once."""


def measure_operators(settings: OperatorsConfig, conditions: Conditions, steps: Steps) -> Result:
    """Measure every operator at every length and number kept, those of one cell in turns."""
    cells = []
    for length in sorted(set(settings.lengths)):  # powers of two from 2 to half of the length are kept
        cells += [(length, 2**power) for power in range(1, int(math.log2(length // 2)) + 1)]
    rows: list[Row] = []
    steps.total = len(cells)
    for length, keep in cells:
        steps(vectors=f"{length:,} to {keep:,}")
        left_out: dict[str, str] = {}
        # The loop takes at most in proportion to length * keep.
        if last := next((row for row in reversed(where(rows, {"operator": LOOP})) if row.timing), None):
            predicted = last["fastest"] * (length * keep) / (last["length"] * last["keep"])
            if predicted > PATIENCE * settings.seconds:
                left_out[LOOP] = f"would take {predicted:.1f} s"
        rows += _measure(length, keep, settings, conditions, left_out, steps.check)
    return operators_result(rows)


def _measure(
    length: int, keep: int, settings: OperatorsConfig, conditions: Conditions, left_out: Mapping[str, str], check: Check
) -> Iterator[Row]:
    """Measure all operators at one length and number kept."""
    pools = {name: pool for name, pool in OPERATORS.items() if name not in left_out}
    generator = torch.Generator().manual_seed(conditions.seed)
    draws = []
    for _ in range(min(DRAWS, math.ceil(ROWS / (settings.batch * keep)))):
        states = torch.rand(settings.batch, length, settings.dim, generator=generator) * 2 - 1
        scores = torch.rand(settings.batch, length, generator=generator)
        draws.append((states.to(conditions.device), scores.to(conditions.device)))
    similarities = {}
    with torch.inference_mode():
        tasks = {name: partial(pool, *draws[0], keep) for name, pool in pools.items()}
        timings = interleave(tasks, settings.repeats, conditions.device, check, settings.seconds)
        for name, pool in pools.items():
            check()
            documents = max(1, ROWS // keep)
            affordable = max(1, int(PATIENCE * settings.seconds / max(timings[name].fastest, 1e-9)))
            of_draws = [
                similarity(states[:documents], scores[:documents], pool(states[:documents], scores[:documents], keep))
                for states, scores in draws[:affordable]
            ]
            similarities[name] = float(torch.cat(of_draws).mean())
    sizes = {"length": length, "keep": keep, "batch": settings.batch, "rounds": math.ceil(math.log2(length / keep))}
    for name in OPERATORS:
        values = {"operator": name, **sizes, "similarity": similarities.get(name)}
        yield Row(values, timings.get(name), left_out.get(name, ""))


def _all_steps(states: Tensor, scores: Tensor, keep: int) -> Tensor:
    mask = torch.ones_like(scores, dtype=torch.bool)
    return step_weights(scores, mask, *top_k(scores, mask, keep), SHARPNESS) @ states


def _halve(states: Tensor, scores: Tensor, keep: int, sort: Sort, hard: bool = False) -> Tensor:
    mask = torch.ones_like(scores, dtype=torch.bool)
    return halve(scores, mask, keep, Peak(), hard, sort)[0].combine(states)


OPERATORS: Mapping[str, Pool] = {
    SORTED: partial(_halve, sort="each_round"),
    ONCE: partial(_halve, sort="once"),
    NEVER: partial(_halve, sort="never"),
    HARD: partial(_halve, sort="each_round", hard=True),
    BY_DOCUMENT: lambda states, scores, keep: torch.cat(  # as the released code does
        [_halve(*document, keep, "each_round") for document in zip(states.split(1), scores.split(1), strict=True)]
    ),
    LOOP: lambda states, scores, keep: iterate(
        states, scores, torch.ones_like(scores, dtype=torch.bool), keep, SHARPNESS
    ),
    STEPS: _all_steps,
}


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


def operators_result(rows: Sequence[Row]) -> Result:
    """Tables of similarity, time, growth with length, and sorting."""
    cells = by_cell(rows)
    most = {length: max(keep for vectors, keep in cells if vectors == length) for length, _ in cells}
    shown = [row for row in rows if row["keep"] in (*SHOWN, most[row["length"]])]
    left_out = sum(bool(row.note) for row in rows)
    slow = [f"-: left out, it would take too long ({left_out} of {len(rows)}; see study.seconds)"] if left_out else []
    similarity, time = (
        [
            Row({"length": length, "keep": keep, **{name: row[value] for name, row in of_cell.items()}})
            for (length, keep), of_cell in by_cell(shown).items()
        ]
        for value in ("similarity", "fastest")
    )
    rounds = (row["fastest"] / row["rounds"] for row in where(shown, {"operator": SORTED}))
    similarity = [line.also({"published": PUBLISHED.get(line["length"], {}).get(line["keep"])}) for line in similarity]
    time = [line.also({"round": seconds}) for line, seconds in zip(time, rounds, strict=True)]
    facts = {"legend": _LEGEND, "batch": rows[0]["batch"]}
    lengths = []  # when halving overtakes the loop, and what a round takes
    for length in most:
        same = [rows for (vectors, _), rows in cells.items() if vectors == length]
        batched, alone = (
            fmean(rows[name]["fastest"] / rows[name]["rounds"] for rows in same) for name in (SORTED, BY_DOCUMENT)
        )
        # about 10 ms of the released code at batch 16, whatever the length
        published = {"published": "32 to 64", "published_round": "about 10"}
        values = {"length": length, "crossing": crossing(cells, length), "batched": batched, "alone": alone}
        lengths.append(Row({**values, **published}))
    sorting = [
        Row({"sorting": name, "overhead": overhead(cells, other), "saving": saving(cells, other)})
        for name, other in (("each round against never", NEVER), ("each round against once", ONCE))
    ]
    sorting.append(Row({"sorting": "published", "overhead": 0.073, "saving": 0.452}))
    similar = [Column(_HEADINGS[name], name, ",.3f") for name in unique(rows, "operator")]
    timed = [Column(_HEADINGS[name], name, ",.2f", "ms") for name in unique(rows, "operator")]
    tables = [
        make_table("similarity", similarity, facts, columns=similar),
        make_table("pooling_time", time, facts, columns=timed, notes=slow),
        make_table("halving", lengths, facts),
        make_table("sorting", sorting),
    ]
    return Result({"operators": rows}, tables)


def by_cell(rows: Sequence[Row]) -> dict[tuple[int, int], dict[str, Row]]:
    """Rows by (vectors, kept), then operator."""
    cells: dict[tuple[int, int], dict[str, Row]] = {}
    for row in rows:
        cells.setdefault((row["length"], row["keep"]), {})[row["operator"]] = row
    return cells


def crossing(cells: Cells, length: int) -> int | None:
    """Smallest number kept from which on halving is faster than the iterative loop; None if it never is.

    A loop that was left out because it would take too long counts as slower.
    """
    smallest = None
    for (vectors, keep), rows in sorted(cells.items(), reverse=True):
        if vectors != length:
            continue
        halving, loop = rows[SORTED].timing, rows[LOOP].timing
        if halving is None or (loop is not None and loop.fastest <= halving.fastest):
            break
        smallest = keep
    return smallest


def overhead(cells: Cells, operator: str) -> float:
    """Time that sorting costs over `operator`: mean over the cells of the share that it adds."""
    return fmean(rows[SORTED]["fastest"] / rows[operator]["fastest"] - 1 for rows in cells.values())


def saving(cells: Cells, operator: str) -> float:
    """Error that sorting saves over `operator`: mean over the cells of the share of 1 - similarity."""
    errors = [[max(1 - rows[name]["similarity"], 1e-9) for name in (SORTED, operator)] for rows in cells.values()]
    return fmean(1 - ours / other for ours, other in errors)
