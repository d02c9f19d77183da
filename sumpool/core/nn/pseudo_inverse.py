"""Iterative inverses of small matrices, differentiable and without a decomposition."""

import torch
from torch import Tensor

from sumpool.core.nn.numerics import matmul_exactly


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
