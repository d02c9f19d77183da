import torch

from sumpool.core.nn.low_rank import iterate_pseudo_inverse


def test_converges_to_the_pseudo_inverse() -> None:
    generator = torch.Generator().manual_seed(1)
    matrix = torch.randn(3, 2, 8, 8, dtype=torch.float64, generator=generator)
    matrix[1, 1, :, 4:] = matrix[1, 1, :, :4]  # singular
    expected = torch.linalg.pinv(matrix)
    torch.testing.assert_close(iterate_pseudo_inverse(matrix, 30), expected, atol=1e-8, rtol=0)


def test_matrices_of_a_batch_do_not_change_each_other() -> None:
    matrices = torch.rand(2, 5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    matrices[1] *= 1000
    together = iterate_pseudo_inverse(matrices, 6)
    torch.testing.assert_close(together[0], iterate_pseudo_inverse(matrices[0], 6), atol=1e-14, rtol=0)


def test_zeros_stay_zero_and_have_finite_gradients() -> None:
    matrix = torch.zeros(2, 4, 4)
    matrix[0, :2, :2] = torch.tensor([[0.9, 0.1], [0.2, 0.8]])
    inverse = iterate_pseudo_inverse(matrix.requires_grad_(), 6)
    assert (inverse[1] == 0).all()
    assert (inverse[0, 2:] == 0).all()
    assert (inverse[0, :, 2:] == 0).all()
    inverse.sum().backward()
    assert matrix.grad is not None
    assert matrix.grad.isfinite().all()


def test_many_iterations_of_a_singular_matrix_stay_finite() -> None:
    generator = torch.Generator().manual_seed(1)
    matrix = torch.rand(2, 30, 1, generator=generator) @ torch.rand(2, 1, 30, generator=generator)  # of rank 1
    for iterations in (59, 200):
        inverse = iterate_pseudo_inverse(matrix, iterations)
        assert inverse.isfinite().all()
        torch.testing.assert_close(matrix @ inverse @ matrix, matrix, atol=0.05, rtol=0)


def test_contractive_matrices_start_closer_to_their_inverse() -> None:
    points = torch.rand(20, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    kernel = (-torch.cdist(points, points)).exp() + torch.eye(20).double()
    root = kernel.sum(1).rsqrt()
    matrix = kernel * root[:, None] * root
    errors = [
        (iterate_pseudo_inverse(matrix, 3, contractive=contractive) - torch.linalg.inv(matrix)).norm()
        for contractive in (True, False)
    ]
    assert errors[0] < errors[1]
