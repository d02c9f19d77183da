"""Precision of intermediate results, and reproducible pseudo-random numbers."""

import torch
from torch import Tensor


def at_least_float32(values: Tensor) -> Tensor:
    """Convert half precision to float32; float32 and float64 stay as they are."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def hash_uniform(indices: Tensor) -> Tensor:
    """Hash non-negative integers (...) to float32 in [0, 1), evenly spread and the same in every run.

    Upper 24 bits of the 32-bit finalizer of MurmurHash3 (Appleby, 2011).
    """
    hashed = indices + 1  # the hash of 0 is 0
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        hashed = ((hashed ^ (hashed >> shift)) * factor) & 0xFFFFFFFF
    return ((hashed ^ (hashed >> 16)) >> 8).float() / 2**24
