import torch
from torch import nn

from sumpool.core.nn.skip_init import SkipInit


def test_weights_are_made_without_random_numbers() -> None:
    before = torch.random.get_rng_state()
    with SkipInit():
        linear, embedding = nn.Linear(3, 4), nn.Embedding(5, 4)
        nn.init.xavier_uniform_(linear.weight)
        nn.init.normal_(embedding.weight, std=2.0)
        nn.GRU(3, 4)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert [tuple(weights.shape) for weights in linear.parameters()] == [(4, 3), (4,)]
    assert all(weights.requires_grad for weights in linear.parameters())


def test_nothing_else_is_left_out() -> None:
    with SkipInit():
        assert torch.arange(3).tolist() == [0, 1, 2]
        assert torch.zeros(2).add_(1).tolist() == [1, 1]
    assert nn.Linear(3, 4).weight.abs().max() > 0
