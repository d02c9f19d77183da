import torch
from torch import Tensor

from sumpool.core.nn.divergence import divergence, entropy, mean_over_documents, sharpen
from sumpool.core.nn.sentences import sentence_log_softmax

EXISTS = torch.tensor([[True] * 5, [True, False, False, False, False], [False] * 5])


def random_log_weights() -> Tensor:
    return sentence_log_softmax(torch.randn(3, 2, 4, 5, dtype=torch.float64), EXISTS)


def test_entropy_and_divergence_equal_those_of_torch() -> None:
    left, right = random_log_weights(), random_log_weights()
    whole, other = (torch.distributions.Categorical(logits=part[0]) for part in (left, right))
    torch.testing.assert_close(entropy(left)[0], whole.entropy())
    torch.testing.assert_close(divergence(left, right)[0], torch.distributions.kl_divergence(whole, other))
    for values in (entropy(left), divergence(left, right)):
        assert torch.equal(values[1:], torch.zeros_like(values[1:]))


def test_sharpening_is_a_power() -> None:
    left = random_log_weights()
    sharp = sharpen(left, 0.5, EXISTS)
    expected = left[0].exp() ** 2
    torch.testing.assert_close(sharp[0].exp(), expected / expected.sum(-1, keepdim=True))
    torch.testing.assert_close(sharpen(left, 1.0, EXISTS), left)
    assert torch.equal(sharp == -torch.inf, left == -torch.inf)


def test_gradients_are_finite_without_sentences() -> None:
    scores = torch.randn(2, 3, 2, 4, 5, requires_grad=True)
    left, right = (sentence_log_softmax(part, EXISTS) for part in scores)
    (divergence(sharpen(left, 0.5, EXISTS), right) + entropy(left)).sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    assert torch.equal(scores.grad[..., ~EXISTS[1]][:, 1:], torch.zeros(2, 2, 2, 4, 4))


def test_the_mean_is_over_real_tokens_then_documents() -> None:
    values = torch.randn(3, 2, 4)
    mask = torch.tensor([[True, True, False, False], [True] * 4, [False] * 4])
    expected = (values[0, :, :2].mean() + values[1].mean()) / 3
    torch.testing.assert_close(mean_over_documents(values.masked_fill(~mask[:, None], torch.nan), mask), expected)
    torch.testing.assert_close(mean_over_documents(values, None), values.mean())
