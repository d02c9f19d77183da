import torch
from torch import nn

from sumpool.core.output import TiedOutput, TiedOutputConfig
from sumpool.special_tokens import PAD

VOCAB, MISSING = 30, (2, 7)


def build() -> TiedOutput:
    """A head with two tokens removed."""
    head = TiedOutputConfig(bias=True).build(nn.Embedding(VOCAB, 16, padding_idx=PAD)).double()
    assert head.bias is not None
    head.bias.normal_()
    head.bias[list(MISSING)] = -torch.inf
    return head


def make_states() -> torch.Tensor:
    return torch.randn(3, 9, 16, dtype=torch.float64, requires_grad=True)


HISTORY = torch.zeros(3, 9, 2, dtype=torch.long)


def test_the_bias_is_added_and_removes_tokens() -> None:
    head, states = build(), make_states()
    assert head.bias is not None
    log_probs = head(states, HISTORY, {})
    assert (log_probs[..., list(MISSING)] == -torch.inf).all()
    remaining = [token for token in range(VOCAB) if token not in MISSING]
    expected = (states @ head.embedding.weight[remaining].T + head.bias[remaining]).log_softmax(-1)
    torch.testing.assert_close(log_probs[..., remaining], expected)


def test_smoothing_is_uniform_over_remaining_tokens() -> None:
    head, states = build(), make_states()
    target = torch.randint(8, VOCAB, (3, 9)).masked_fill(torch.arange(9) > 6, PAD)
    scores = head.score(states, HISTORY, {}, target, smoothing=0.1)
    remaining = [token for token in range(VOCAB) if token not in MISSING]
    uniform = head(states, HISTORY, {})[..., remaining].mean(-1)
    expected = (-0.9 * scores.log_prob - 0.1 * uniform).masked_fill(target == PAD, 0.0).sum()
    torch.testing.assert_close(scores.nll, expected)
    scores.nll.backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()
    assert states.grad[:, :7].abs().amin() > 0
    gradient = head.embedding.weight.grad
    assert gradient is not None
    assert gradient.isfinite().all()
    assert (gradient[list(MISSING)] == 0).all()


def test_the_bias_is_saved_and_not_trained() -> None:
    assert "bias" in build().state_dict()
    assert {name for name, _ in build().named_parameters()} == {"embedding.weight"}
    assert "bias" not in TiedOutputConfig().build(nn.Embedding(VOCAB, 16, padding_idx=PAD)).state_dict()
