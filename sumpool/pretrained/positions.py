"""Extension of learned position embeddings to longer inputs, and the sinusoids of Marian and PEGASUS.

repeat  The learned positions again from the first, as LED was made from BART (Beltagy et al., 2020). Copies meet in a
        jump.
flip    Every second copy in reverse order, as in LoBART (Manakul and Gales, 2021): no jump, but the positions on either
        side of a seam are equal.

Both keep the learned positions for the first tokens, so that nothing changes for documents within them.
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


def sinusoids(length: int, dim: int) -> Tensor:
    """Compute the position embeddings of Marian and PEGASUS (Vaswani et al., 2017, section 3.5).

    Sines are in the first half and cosines in the second; frequencies are 10000 ** -(2 i / dim). Those of sumpool's own
    models are 10000 ** -(2 i / (dim - 2)).

    Returns:
        (length, dim), float32, rounded once.
    """
    half = (dim + 1) // 2
    period = 10000.0 ** (2 * torch.arange(half, dtype=torch.float64) / dim)
    angle = torch.arange(length, dtype=torch.float64)[:, None] / period  # (length, half)
    return torch.cat([angle.sin(), angle.cos()[:, : dim - half]], dim=1).float()
