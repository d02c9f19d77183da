"""Chance that leaves no room for chance: numbers that look drawn and are always the same."""

from torch import Tensor


def hash_uniform(numbers: Tensor) -> Tensor:
    """Scatter numbers (...) over [0, 1): the finalizer of MurmurHash3 (Appleby, 2011) on 32 bits, 24 of them kept."""
    hashed = numbers + 1  # the hash of 0 is 0
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        hashed = ((hashed ^ (hashed >> shift)) * factor) & 0xFFFFFFFF
    return ((hashed ^ (hashed >> 16)) >> 8).float() / 2**24
