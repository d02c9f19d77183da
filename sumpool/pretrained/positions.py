"""Sinusoidal positions of transformers, and extension of learned positions to longer inputs.

repeat  The learned positions again from the first, as LED was made from BART (Beltagy et al., 2020). Copies meet in a
        jump.
flip    Every second copy in reverse order, as in LoBART (Manakul and Gales, 2021): no jump, but the positions on either
        side of a seam are equal.

Both of these keep the learned positions for the first tokens, so that nothing changes for documents within them.
"""

from typing import Literal

import torch
from torch import Tensor

Extension = Literal["repeat", "flip"]


def extend_positions(learned: Tensor, length: int, extension: Extension) -> Tensor:
    """Extend or truncate position embeddings.

    Args:
        learned: (positions, dim).
        length: Number of positions; fewer than there are keeps the first ones.
        extension: Kind of extension.

    Returns:
        (length, dim).
    """
    positions = torch.arange(length, device=learned.device)
    copy, index = positions // len(learned), positions % len(learned)
    if extension == "flip":
        index = torch.where(copy % 2 == 1, len(learned) - 1 - index, index)
    return learned[index]


def sinusoidal_positions(length: int, dim: int) -> Tensor:
    """Compute the positions of PEGASUS and Marian: sines in the first half, cosines in the second.

    Returns:
        (length, dim), float32.
    """
    half = dim // 2
    decay = 10000.0 ** -(torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * decay  # (length, half)
    return torch.cat([angle.sin(), angle.cos()], dim=-1).to(torch.float32)
