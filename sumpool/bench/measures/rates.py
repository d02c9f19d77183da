"""How fast the machine itself is: a large product of matrices, and memory that is read and copied.

Measured in the same turns as what they are held against, so that a share is one of the same minute.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

from sumpool.bench.measures.timing import Timing, Work
from sumpool.core.nn.quantization import Precision, quantize

Rate = Literal["fp32 products", "bf16 products", "int8 products", "memory read", "memory copied"]
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16", "int8")
PRODUCTS: dict[Precision, Rate] = {"fp32": "fp32 products", "bf16": "bf16 products", "int8": "int8 products"}
"""The rate of each precision."""
SIDE = {"cpu": 2048, "cuda": 8192}
"""Rows and columns of the matrices; larger ones are no faster."""
BUFFER = {"cpu": 2**28, "cuda": 2**30}
"""Bytes of the buffer, more than caches hold."""


@dataclass(frozen=True)
class Probe:
    """A work that nothing but the machine decides.

    Attributes:
        work: One repetition.
        amount: Operations or bytes of a repetition.
    """

    work: Work
    amount: int


@dataclass(frozen=True)
class RateRow:
    """How fast the machine was at one thing while one length was measured.

    Attributes:
        rate: What it did.
        length: Source tokens of the rows that were measured in the same turns.
        amount: Operations or bytes of a repetition; a copy reads and writes each.
        timing: The repetitions.
    """

    rate: Rate
    length: int
    amount: int
    timing: Timing

    @property
    def speed(self) -> float:
        """Operations or bytes a second."""
        return self.amount / self.timing.median


def probes(device: torch.device, precisions: Sequence[Precision]) -> dict[Rate, Probe]:
    """Prepare what measures the machine, with its buffers in place.

    Args:
        device: The device in use.
        precisions: Of the products.
    """
    side = SIDE[device.type]
    found: dict[Rate, Probe] = {}
    for precision in dict.fromkeys(precisions):
        found[PRODUCTS[precision]] = Probe(_product(side, precision, device), 2 * side**3)
    buffer = torch.ones(BUFFER[device.type] // 4, device=device)
    copied = torch.ones_like(buffer)
    found["memory read"] = Probe(buffer.sum, 4 * buffer.numel())
    found["memory copied"] = Probe(partial(copied.copy_, buffer), 2 * 4 * buffer.numel())
    return found


def _product(side: int, precision: Precision, device: torch.device) -> Work:
    if precision == "int8":
        return _map_of_integers(side, device)
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    left, right = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
    product: Tensor = torch.empty_like(left)
    return partial(torch.mm, left, right, out=product)


def _map_of_integers(side: int, device: torch.device) -> Work:
    """A map as models have it: there is no plain product of integers."""
    maps = nn.Sequential(nn.Linear(side, side, bias=False, device=device)).eval().requires_grad_(False)
    quantize(maps, "int8")
    return partial(maps, torch.randn(side, side, device=device))
