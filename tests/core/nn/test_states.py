import torch

from sumpool.core.nn.states import Segments, memberships
from tests.core.batches import mask_of


def test_an_open_end_leaves_the_last_tokens_out() -> None:
    mask = mask_of(6, 4, 3)
    ends = torch.tensor([[0, 1, 0, 1, 0, 0], [1, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1]]).double()
    segments = Segments.from_ends(ends, mask, open_end=True)
    assert segments.mask.tolist() == [[True, True], [True, False], [False, False]]
    assert segments.inside.tolist() == [[True] * 4 + [False] * 2, [True] + [False] * 5, [False] * 6]
    assert segments.ended.tolist() == [[0, 1, 1, 2, 2, 2], [1, 1, 1, 1, 1, 1], [0] * 6]
    states = torch.arange(18.0).double().view(3, 6, 1)
    weights = memberships(ends, mask).masked_fill(~segments.inside, 0.0)
    means = segments.mean(states, weights)
    assert means.squeeze(2).tolist() == [[0.5, 2.5], [6.0, 0.0], [0.0, 0.0]]
