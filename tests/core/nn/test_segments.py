import torch

from sumpool.core.nn.segments import Segments, memberships


def test_an_open_end_leaves_the_last_tokens_out() -> None:
    mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2, [True] * 3 + [False] * 3])
    ends = torch.tensor([[0, 1, 0, 1, 0, 0], [1, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1]]).double()
    segments = Segments.from_ends(ends, mask, open_end=True)
    assert segments.mask.tolist() == [[True, True], [True, False], [False, False]]
    assert segments.inside.tolist() == [[True] * 4 + [False] * 2, [True] + [False] * 5, [False] * 6]
    assert segments.ended.tolist() == [[0, 1, 1, 2, 2, 2], [1, 1, 1, 1, 1, 1], [0] * 6]
    states = torch.arange(18.0).double().view(3, 6, 1)
    weights = memberships(ends, mask).masked_fill(~segments.inside, 0.0)
    means = segments.mean(states, weights)
    assert means.squeeze(2).tolist() == [[0.5, 2.5], [6.0, 0.0], [0.0, 0.0]]


def test_a_closed_end_takes_all_tokens() -> None:
    mask = torch.tensor([[True] * 5, [True] * 2 + [False] * 3])
    ends = torch.tensor([[0, 1, 0, 0, 0], [0, 0, 1, 1, 1]])
    segments = Segments.from_ends(ends, mask)
    assert torch.equal(segments.inside, mask)
    assert segments.mask.tolist() == [[True, True], [True, False]]
    assert segments.last.tolist()[0] == [1, 4]


def test_the_gradient_at_an_end_asks_for_new_splits_only() -> None:
    """Strictly inside its segment the gradient is (later tokens / tokens) * (their mean - the segment's), else 0."""
    torch.manual_seed(0)
    ends = torch.tensor([[0, 0, 0, 1, 0, 1, 0, 0]]).double().requires_grad_()
    mask = torch.ones(1, 8, dtype=torch.bool)
    states = torch.randn(1, 8, 1).double()
    segments = Segments.from_ends(ends, mask, open_end=True)
    weights = memberships(ends, mask).masked_fill(~segments.inside, 0.0)
    segments.mean(states, weights)[0, 0].sum().backward()
    values = states[0, :4, 0]
    expected = [(3 - i) / 4 * (values[i + 1 :].mean() - values.mean()) for i in range(3)]
    assert ends.grad is not None
    torch.testing.assert_close(ends.grad[0, :3], torch.stack(expected))
    assert not ends.grad[0, 3:].any()
