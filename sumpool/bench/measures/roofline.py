"""Speed of the machine itself: large matrix products, and memory that is read and copied.

Measured in the same turns as the models, so that a model's share of it is one of the same minute.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import nn

from sumpool.bench.measures.timing import Work
from sumpool.core.nn.quantization import Precision, quantize

READ, COPY = "memory read", "memory copied"
SIDE = {"cpu": 2048, "cuda": 8192}
"""Rows and columns of the matrices; larger ones are no faster."""
BUFFER = {"cpu": 2**28, "cuda": 2**30}
"""Bytes of the buffer, larger than caches."""


class Probe(NamedTuple):
    """Work whose speed only the machine decides, and its operations or bytes; a copy reads and writes each byte."""

    work: Work
    amount: int


def product_name(precision: str) -> str:
    """Name of the matrix product in a precision."""
    return f"{precision} products"


def probes(device: torch.device, precisions: Sequence[Precision]) -> dict[str, Probe]:
    """Prepare the probes of a device, buffers included, with a matrix product for each of the precisions."""
    side = SIDE[device.type]
    machine: dict[str, Probe] = {}
    for precision in dict.fromkeys(precisions):
        machine[product_name(precision)] = Probe(_product(side, precision, device), 2 * side**3)
    buffer = torch.ones(BUFFER[device.type] // 4, device=device)
    copied = torch.ones_like(buffer)
    machine[READ] = Probe(buffer.sum, 4 * buffer.numel())
    machine[COPY] = Probe(partial(copied.copy_, buffer), 2 * 4 * buffer.numel())
    return machine


def _product(side: int, precision: Precision, device: torch.device) -> Work:
    if precision == "int8":  # as a layer: torch has no plain product of integers
        layer = nn.Sequential(nn.Linear(side, side, bias=False, device=device)).eval().requires_grad_(False)
        quantize(layer, "int8")
        return partial(layer, torch.randn(side, side, device=device))
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    left, right = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
    return partial(torch.mm, left, right, out=torch.empty_like(left))
