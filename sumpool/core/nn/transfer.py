"""Copies from the host to a device for which neither waits."""

from collections.abc import Sequence

import torch
from torch import Tensor


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
