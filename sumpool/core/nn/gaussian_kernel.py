"""Gaussian kernel of queries and keys, exp(-|q - k|^2 / (2 sqrt(head_dim))) (Chen et al., 2021, "Skyformer")."""

from torch import Tensor

from sumpool.core.nn.numerics import at_least_float32, matmul_exactly


def scale(states: Tensor) -> Tensor:
    """Divide queries or keys (batch, heads, length, head_dim) by head_dim^(1/4), at least in float32."""
    scaled: Tensor = at_least_float32(states) * states.size(-1) ** -0.25
    return scaled


def log_kernel(left: Tensor, right: Tensor) -> Tensor:
    """Logarithm of the kernel, at most 0 up to rounding.

    Args:
        left: (batch, heads, rows, head_dim), scaled.
        right: (batch, heads, columns, head_dim), scaled.

    Returns:
        (batch, heads, rows, columns).
    """
    return matmul_exactly(left, right.mT) + (minus_half_square(left) + minus_half_square(right).mT)


def minus_half_square(states: Tensor) -> Tensor:
    """Return -|x|^2 / 2 of vectors (..., dim), (..., 1)."""
    return states.square().sum(-1, keepdim=True) / -2
