"""Counted operations: the same number on every machine, whatever else it is doing.

A multiplication and an addition are two operations. Counted are the products of matrices, attention included and
whatever kernel computes it; a mask saves nothing. Not counted are softmax, normalisation, sorting, gathering and other
work that grows with single numbers. A fused attention recomputes its scores on the way back, and that counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Size
from torch.utils.flop_counter import FlopCounterMode

from sumpool.bench.measures.timing import Work

ALL = "Global"
"""torch's name for everything that was counted."""


@dataclass(frozen=True)
class Operations:
    """Operations of some work.

    Attributes:
        maps: Of linear maps: vectors times weights that are learned.
        products: Of all other products: scores, the mixing of values, and the rotations of hashing.
    """

    maps: int = 0
    products: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.maps + self.products

    def __add__(self, other: "Operations") -> "Operations":
        return Operations(self.maps + other.maps, self.products + other.products)

    def __sub__(self, other: "Operations") -> "Operations":
        return Operations(self.maps - other.maps, self.products - other.products)


def count(work: Work) -> int:
    """Run the work once and count its operations, those of its backward pass included."""
    return count_modules(work)[ALL].total


def count_modules(work: Work) -> dict[str, Operations]:
    """Run the work once and count the operations of every module that it calls, by path from the outermost, and ALL."""
    with FlopCounterMode(display=False, custom_mapping=_CPU_ATTENTION) as counter:
        work()
    return {path: _sort(found) for path, found in ({ALL: {}} | counter.get_flop_counts()).items()}


def _sort(found: Mapping[object, int]) -> Operations:
    """Tell maps from products by the kernel: what has a batch of matrices is no map."""
    maps = sum(operations for kernel, operations in found.items() if kernel in _MAPS)
    return Operations(maps, sum(found.values()) - maps)


def _product(query: Size, key: Size) -> int:
    """Count the product of queries (batch, heads, target, head_dim) with keys (batch, heads, length, head_dim)."""
    return 2 * query.numel() * key[-2]


def _attention(
    query: Size,
    key: Size,
    value: Size,
    *settings: object,
    attn_mask: object = None,
    scale: object = None,
    out_shape: object = None,
) -> int:
    """Count the two products of a forward pass: scores, and the mixing of values."""
    del value, settings, attn_mask, scale, out_shape
    return 2 * _product(query, key)


def _attention_backward(
    gradient: Size,
    query: Size,
    key: Size,
    *saved: object,
    attn_mask: object = None,
    scale: object = None,
    out_shape: object = None,
) -> int:
    """Count the five products of a backward pass: the scores again, and the gradients of four factors."""
    del gradient, saved, attn_mask, scale, out_shape
    return 5 * _product(query, key)


_MAPS = {torch.ops.aten.mm, torch.ops.aten.addmm}
# torch's own table knows the attention kernels of CUDA only; queries, keys and values share one head_dim here.
_CPU_ATTENTION = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
}
