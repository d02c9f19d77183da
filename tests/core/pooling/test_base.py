import math

import torch
from torch import Tensor

from sumpool.core.nn.states import Mixture
from sumpool.core.pooling._base import Keep, keep_counts, max_kept, top_k


def test_mixture_equals_a_matrix_product() -> None:
    states = torch.randn(2, 9, 4, dtype=torch.float64, requires_grad=True)
    members = torch.tensor([[[0, 3], [8, 8], [5, 1]], [[2, 7], [4, 6], [0, 0]]])
    weights = torch.rand(2, 3, 2, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True, True, True], [True, True, False]])
    matrix = torch.zeros(2, 3, 9, dtype=torch.float64).scatter_add(2, members, weights) * mask[..., None]
    torch.testing.assert_close(Mixture(members, weights, mask).combine(states), matrix @ states)

    def combine(states: Tensor, weights: Tensor) -> Tensor:
        return Mixture(members, weights, mask).combine(states)

    assert torch.autograd.gradcheck(combine, (states, weights))


def test_keep_counts_are_numbers_or_fractions_rounded_up() -> None:
    lengths = [0, 1, 3, 4, 10, 30, 100]
    mask = torch.arange(100) < torch.tensor(lengths)[:, None]
    keeps: tuple[Keep, ...] = (1, 4, 50, 0.01, 0.1, 0.25, 1 / 3, 0.999)
    for keep in keeps:
        expected = [min(keep, n) if isinstance(keep, int) else math.ceil(round(n * keep, 6)) for n in lengths]
        assert keep_counts(keep, mask).tolist() == expected, keep
        assert [max_kept(keep, length) for length in lengths] == expected, keep


def test_top_k_ignores_padding_and_prefers_the_first_of_ties() -> None:
    scores = torch.tensor([[0.5, 0.9, 0.5, 0.5, 0.1], [0.2, 0.3, torch.nan, torch.inf, 1.0]])
    mask = torch.tensor([[True] * 5, [True, True, False, False, False]])
    indices, real = top_k(scores, mask, 3)
    assert indices[0].tolist() == [1, 0, 2]
    assert indices[1, :2].tolist() == [1, 0]
    assert real.tolist() == [[True] * 3, [True, True, False]]
    assert top_k(scores, mask, 0.5)[1].tolist() == [[True] * 3, [True, False, False]]
