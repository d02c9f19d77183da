import torch

from sumpool.core.nn.masking import attend, hide


def test_hide_puts_zero_over_anything() -> None:
    states = torch.tensor([[[1.0, 2.0], [torch.nan, torch.inf]]])
    assert hide(states, torch.tensor([[True, False]])).tolist() == [[[1.0, 2.0], [0.0, 0.0]]]


def test_attend_equals_a_softmax_over_real_keys() -> None:
    query, key, value = torch.randn(3, 2, 4, 7, 8, dtype=torch.float64)
    mask = torch.rand(2, 7) < 0.6
    mask[:, 0] = True
    logits = (query @ key.transpose(2, 3) / 8**0.5).masked_fill(~mask[:, None, None], -torch.inf)
    torch.testing.assert_close(attend(query, key, value, mask), logits.softmax(-1) @ value)


def test_attend_gives_zeros_to_a_document_without_tokens() -> None:
    query, key, value = torch.randn(3, 2, 1, 5, 4)
    mask = torch.zeros(2, 5, dtype=torch.bool)
    mask[0] = True
    seen = attend(query, key, value, mask)
    assert seen[0].abs().min() > 0
    assert torch.equal(seen[1], torch.zeros_like(seen[1]))
