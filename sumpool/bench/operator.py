"""How close a pooling comes to exact top-k, on random vectors, and how long it takes.

The measure is the normalised chamfer cosine similarity of Pietruszka et al.: for each of the `keep` best-scored
vectors the highest cosine to any vector that is left, averaged. Their benchmark draws vectors from U[-1, 1] with 32
features and scores from U[0, 1].
"""

import math
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.bench.result import OperatorRow
from sumpool.bench.timing import interleave
from sumpool.core.pooling.halving import Peak, halve
from sumpool.interruption import Check, go_on

DIM = 32
BATCH = 16
DRAWS = 8
"""Batches over which the similarity is averaged."""
LENGTH = 2048
PUBLISHED = {512: 0.986, 32: 0.921, 2: 0.412}
"""Similarity of the authors' code at LENGTH, by `keep`."""
OPERATORS = {
    "halving, base 20 twice": (Peak(kind="double_exponential"), False),
    "halving, 20 x score": (Peak(kind="scaled"), False),
    "halving, score": (Peak(kind="plain"), False),
    "halving, hard": (Peak(), True),
}


def similarity(states: Tensor, scores: Tensor, left: Tensor) -> Tensor:
    """Compare what is left with exact top-k.

    Args:
        states: (batch, length, dim).
        scores: (batch, length).
        left: (batch, keep, dim).

    Returns:
        (batch,), in [-1, 1]; 1 where every one of the best vectors is left.
    """
    best = scores.topk(left.size(1)).indices  # (batch, keep)
    target = states.gather(1, best[..., None].expand(-1, -1, states.size(2)))  # (batch, keep, dim)
    cosine = F.normalize(target, dim=-1) @ F.normalize(left, dim=-1).transpose(1, 2)  # (batch, keep, keep)
    return cosine.amax(-1).mean(-1)


def measure_operators(
    repeats: int, device: torch.device, seed: int = 1, check: Check = go_on
) -> tuple[OperatorRow, ...]:
    """Measure every form of halving at LENGTH and each published `keep`, all in turns."""
    generator = torch.Generator().manual_seed(seed)
    draws = [
        (
            (torch.rand(BATCH, LENGTH, DIM, generator=generator) * 2 - 1).to(device),
            torch.rand(BATCH, LENGTH, generator=generator).to(device),
        )
        for _ in range(DRAWS)
    ]
    pools = {
        (operator, keep): partial(_pool, keep=keep, peak=peak, hard=hard)
        for keep in PUBLISHED
        for operator, (peak, hard) in OPERATORS.items()
    }
    works = {f"{operator} {keep}": partial(pool, *draws[0]) for (operator, keep), pool in pools.items()}
    timings = interleave(works, repeats, device, check)
    first = next(iter(OPERATORS))
    return tuple(
        OperatorRow(
            operator=operator,
            length=LENGTH,
            keep=keep,
            batch=BATCH,
            rounds=math.ceil(math.log2(LENGTH / keep)),
            similarity=float(torch.cat([similarity(*draw, pool(*draw)) for draw in draws]).mean()),
            published=PUBLISHED[keep] if operator == first else None,
            timing=timings[f"{operator} {keep}"],
        )
        for (operator, keep), pool in pools.items()
    )


def _pool(states: Tensor, scores: Tensor, keep: int, peak: Peak, hard: bool) -> Tensor:
    with torch.inference_mode():
        mask = torch.ones_like(scores, dtype=torch.bool)
        return halve(scores, mask, keep, peak, hard).mixture.combine(states)
