"""Sinusoidal positions (Vaswani et al., 2017, section 3.5)."""

import math

import torch
from torch import Tensor


def sinusoid(positions: Tensor, dim: int) -> Tensor:
    """Encode places as waves, sines in the first half of the features and cosines in the second.

    Args:
        positions: (...), counted from 0.
        dim: Features, even.

    Returns:
        (..., dim), float32.
    """
    half = dim // 2
    decay = torch.arange(half, device=positions.device) * (-math.log(10000.0) / max(half - 1, 1))
    angle = positions[..., None].float() * decay.exp()
    return torch.cat([angle.sin(), angle.cos()], dim=-1)
