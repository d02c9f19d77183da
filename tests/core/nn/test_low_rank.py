import pytest
import torch

from sumpool.core.nn import low_rank
from sumpool.core.nn.low_rank import iterate_pseudo_inverse, sample_tokens, step_seed
from tests.core.batches import mask_of


def test_tokens_are_drawn_uniformly_without_replacement() -> None:
    mask = torch.ones(1, 40, dtype=torch.bool)
    counts = torch.zeros(40)
    for seed in range(2000):
        index, is_drawn = sample_tokens(mask, 10, seed, 0)
        assert is_drawn.all()
        assert len(set(index[0].tolist())) == 10
        counts[index[0]] += 1
    assert counts.min() > 400
    assert counts.max() < 600


def test_draws_depend_on_the_document_only() -> None:
    lengths = (3, 40, 0, 17)
    mask = mask_of(*lengths, length=64)
    index, is_drawn = sample_tokens(mask, 12, 5, 1)
    for number, real in enumerate(lengths):
        alone, exists = sample_tokens(mask[number : number + 1, : max(1, real)], 12, 5, 1)
        drawn = index[number, is_drawn[number]]
        assert torch.equal(drawn, alone[exists])
        assert (drawn < real).all()
        assert len(drawn) == min(real, 12)


def test_seeds_and_streams_differ() -> None:
    mask = torch.ones(1, 400, dtype=torch.bool)
    draws = {tuple(sample_tokens(mask, 20, *pair)[0][0].tolist()) for pair in ((0, 0), (0, 1), (1, 0))}
    assert len(draws) == 3
    assert step_seed(3, redraw=False) == 3


@pytest.mark.parametrize("equal", [0.0, 0.25, 1 - 2**-24])
def test_of_equal_draws_the_lower_number_comes_first(equal: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(low_rank, "hash_uniform", lambda indices: torch.full(indices.shape, equal))
    draws = low_rank.token_draws(torch.ones(1, 5000, dtype=torch.bool), 1, 0)
    assert (draws.diff() > 0).all()
    assert draws.max() < 1


def test_converges_to_the_pseudo_inverse_of_each_matrix() -> None:
    generator = torch.Generator().manual_seed(1)
    matrix = torch.randn(3, 2, 8, 8, dtype=torch.float64, generator=generator)
    matrix[1, 1, :, 4:] = matrix[1, 1, :, :4]  # singular
    expected = torch.linalg.pinv(matrix)
    torch.testing.assert_close(iterate_pseudo_inverse(matrix, 30), expected, atol=1e-8, rtol=0)
    matrix[1] *= 1000
    alone = iterate_pseudo_inverse(matrix[0], 6)
    torch.testing.assert_close(iterate_pseudo_inverse(matrix, 6)[0], alone, atol=1e-14, rtol=0)


def test_zeros_stay_zero_and_have_finite_gradients() -> None:
    matrix = torch.zeros(2, 4, 4)
    matrix[0, :2, :2] = torch.tensor([[0.9, 0.1], [0.2, 0.8]])
    inverse = iterate_pseudo_inverse(matrix.requires_grad_(), 6)
    assert not any(part.any() for part in (inverse[1], inverse[0, 2:], inverse[0, :, 2:]))
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
