"""Numerical functions: rounding, precision of intermediate results, hashing, indices of masks, copies to a device."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F


def round_up(count: int, multiple: int) -> int:
    """Return the smallest multiple that is not below a count."""
    return (count + multiple - 1) // multiple * multiple


def at_least_float32(values: Tensor) -> Tensor:
    """Convert half precision to float32; float32 and float64 stay as they are."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def sigmoid(values: Tensor) -> Tensor:
    """Sigmoid by one formula: on a CPU torch has another for the last numbers of a tensor, which batch mates shift."""
    return F.logsigmoid(values).exp()


def matmul_exactly(left: Tensor, right: Tensor) -> Tensor:
    """Multiply matrices in the precision of the left one, under autocast too, which would round the product."""
    with torch.autocast(left.device.type, enabled=False):
        return left @ right.to(left.dtype)


def hash_uniform(indices: Tensor) -> Tensor:
    """Hash non-negative integers (...) to float32 in [0, 1), evenly spread and the same in every run.

    Upper 24 bits of the 32-bit finalizer of MurmurHash3 (Appleby, 2011).
    """
    hashed = indices + 1  # the hash of 0 is 0
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        hashed = ((hashed ^ (hashed >> shift)) * factor) & 0xFFFFFFFF
    return ((hashed ^ (hashed >> 16)) >> 8).float() / 2**24


def hash_pairs(count: int, heads: int, seed: int, device: torch.device) -> Tensor:
    """Hash heads and pairs of indices to (heads, count, count), the same for a pair whatever the count."""
    index = torch.arange(count, device=device)
    pair = torch.maximum(index[:, None], index) ** 2 + 2 * torch.minimum(index[:, None], index)
    pair = pair + (index[:, None] < index)
    return hash_uniform((pair * 1021 + torch.arange(heads, device=device)[:, None, None]) * 1031 + seed)


def indices_of_true(mask: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Find the indices of True in each row, in order.

    Args:
        mask: (batch, length).
        size: Indices to return, at least as many as any row has.

    Returns:
        Indices (batch, size), any index after the last one; and True at valid indices, (batch, size).
    """
    rank = torch.where(mask, mask.cumsum(1) - 1, size)
    indices = torch.arange(mask.size(1), device=mask.device).expand(mask.shape)
    index = rank.new_zeros(len(mask), size + 1).scatter(1, rank, indices)[:, :size]
    return index, torch.arange(size, device=mask.device) < mask.sum(1, keepdim=True)


def to_device(
    values: Sequence[float] | Sequence[Sequence[float]] | Tensor,
    like: Tensor | torch.device,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Copy numbers of the host to a device, without waiting for it; to a GPU through pinned memory.

    Args:
        values: Numbers, or a tensor on the host.
        like: The device, or a tensor on it.
        dtype: Type of the numbers; that of the values by default.
    """
    device = like.device if isinstance(like, Tensor) else like
    host = values if isinstance(values, Tensor) else torch.tensor(values, dtype=dtype)
    # Of memory that is not pinned CUDA makes a copy first, which may wait for the device.
    return host.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else host.to(device)
