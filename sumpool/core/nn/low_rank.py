"""Attention weights as a product of factors, tokens that are drawn for them, and an iterated pseudo-inverse."""

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.numerics import hash_uniform, matmul_exactly


def sample_tokens(mask: Tensor, count: int, seed: int, stream: int) -> tuple[Tensor, Tensor]:
    """Draw real tokens of each document uniformly, the same ones in every batch.

    Args:
        mask: (batch, length), True at real tokens.
        count: Number of draws, at most all tokens of a document.
        seed: Seed, less than 2**31.
        stream: Number of the draw among those of one seed, less than 1021.

    Returns:
        Indices (batch, draws), and True at draws that the document has, (batch, draws).
    """
    draws = token_draws(mask, seed, stream).masked_fill(~mask, 2.0)
    size = min(count, mask.size(1))
    return draws.topk(size, dim=1, largest=False).indices, torch.arange(size, device=mask.device) < mask.sum(
        1, keepdim=True
    )


def token_draws(mask: Tensor, seed: int, stream: int) -> Tensor:
    """Draw a number in [0, 1) for each real token; arguments as above.

    Returns:
        (batch, length), float64, distinct within a document; any value at padding.
    """
    # Of two equal hashes, the lower number comes first.
    numbers = (mask.cumsum(1) - 1).clamp(min=0)
    draws: Tensor = hash_uniform((numbers * 1021 + stream) * 1031 + seed).double() + numbers / 2**50
    return draws


def step_seed(seed: int, redraw: bool) -> int:
    """Return the seed, or with `redraw` a new one from the random generator of torch."""
    return int(torch.randint(2**31, (), device="cpu")) if redraw else seed


def take_rows(states: Tensor, index: Tensor) -> Tensor:
    """Gather tokens of states (batch, heads, length, head_dim) at (batch, heads or 1, rows): as many, head_dim each."""
    return states.gather(2, index[..., None].expand(-1, states.size(1), -1, states.size(3)))


def fill_rows(states: Tensor, index: Tensor, is_row: Tensor, rows: Tensor) -> Tensor:
    """Replace some tokens.

    Args:
        states: (batch, heads, length, head_dim).
        index: (batch, heads, rows), distinct in each document.
        is_row: (batch, heads, rows), False at rows to ignore.
        rows: (batch, heads, rows, head_dim).

    Returns:
        (batch, heads, length, head_dim).
    """
    length = states.size(2)
    index = index.masked_fill(~is_row, length)[..., None].expand_as(rows)  # one row more takes those to ignore
    return F.pad(states, (0, 0, 0, 1)).scatter(2, index, rows.to(states.dtype))[:, :, :length]


def iterate_pseudo_inverse(matrix: Tensor, iterations: int, *, contractive: bool = False) -> Tensor:
    """Approximate the Moore-Penrose inverse by the iteration of Razavi et al. (2014), of third order.

    It starts from the transpose divided by both the largest column sum and the largest row sum of absolute values of
    the same matrix, so that it converges for any matrix, and no matrix of a batch changes another. A contractive matrix
    needs only the column sum, which is as large as its largest eigenvalue, and starts closer to the inverse. Rows and
    columns of zeros stay zero. Small singular values need more iterations: each multiplies them by 3.25 at first. Those
    of a singular matrix, which are rounding errors, would grow without end: an inverse whose largest element exceeds
    that of a singular value of size * eps, relative to the largest, stays as it was before.

    Args:
        matrix: (..., size, size), at least float32.
        iterations: Number of iterations.
        contractive: Whether the matrix is symmetric with eigenvalues from 0 to 1.

    Returns:
        (..., size, size); 0 for a matrix of zeros.
    """
    absolute = matrix.abs()
    columns = absolute.sum(-2).amax(-1)  # (...)
    norms = columns * absolute.sum(-1).amax(-1)  # (...), at least the square of the largest singular value
    inverse = matrix.mT / (columns if contractive else norms).masked_fill(norms == 0, 1.0)[..., None, None]
    limit = 1 / (matrix.size(-1) * torch.finfo(matrix.dtype).eps * norms.detach().sqrt())  # (...)
    identity = torch.eye(matrix.size(-1), dtype=matrix.dtype, device=matrix.device)
    for _ in range(iterations):
        product = matmul_exactly(matrix, inverse)
        inner = 15 * identity - matmul_exactly(product, 7 * identity - product)
        improved = matmul_exactly(inverse, 13 * identity - matmul_exactly(product, inner)) / 4
        is_bounded = improved.detach().abs().amax((-2, -1)) <= limit
        inverse = torch.where(is_bounded[..., None, None], improved, inverse)
    return inverse
