import pytest
import torch
from torch import nn

from sumpool.core.pooling.hard import HardPooler, HardPoolerConfig
from sumpool.core.scoring import Scorer
from sumpool.core.tokens import Tokens
from tests.core.batches import make_tokens


def build(config: HardPoolerConfig) -> HardPooler:
    return config.build(nn.Embedding(9, 16)).double()


class ConstantScorer(Scorer):
    """Score by given values."""

    def __init__(self, *scores: float) -> None:
        super().__init__()
        self.scores = nn.Parameter(torch.tensor([scores], dtype=torch.float64))

    def forward(self, tokens: Tokens) -> torch.Tensor:
        return self.scores.expand(tokens.mask.shape)


def test_the_best_vectors_are_kept_unchanged() -> None:
    tokens = make_tokens(60, 13)
    pooler = build(HardPoolerConfig(keep=7))
    pooled = pooler(tokens)
    for number, length in enumerate([60, 13]):
        scores = pooler.scorer(tokens)[number, :length]
        best = scores.topk(7).indices.sort().values
        assert torch.equal(pooled.tokens.states[number], tokens.states[number, best])
        assert torch.equal(pooled.tokens.origin[number], best)
    mixture = pooled.mixture()
    assert torch.equal(mixture.members[..., 0], pooled.tokens.origin)
    assert (mixture.weights == 1).all()


@pytest.mark.parametrize("gradient", ["none", "straight_through"])
def test_scorer_gradient_is_that_of_a_factor(gradient: str) -> None:
    tokens = make_tokens(5)
    scores = torch.tensor([0.3, 0.9, 0.1, 0.5, 0.2], dtype=torch.float64)
    pooler = HardPooler(
        HardPoolerConfig.model_validate({"keep": 2, "gradient": gradient}), ConstantScorer(*scores.tolist())
    )
    pooled = pooler(tokens).tokens
    if gradient == "none":
        assert not pooled.states.requires_grad
        return
    pooled.states.square().sum().backward()
    assert isinstance(pooler.scorer, ConstantScorer)
    factor = scores.clone().requires_grad_()
    kept = [1, 3]
    (tokens.states[0, kept] * (factor / factor.detach())[kept, None]).square().sum().backward()
    assert factor.grad is not None
    torch.testing.assert_close(pooler.scorer.scores.grad, factor.grad[None])


def test_scores_of_zero_and_one_are_allowed() -> None:
    tokens = make_tokens(6, dtype=torch.float32)
    pooler = HardPooler(HardPoolerConfig(keep=3), ConstantScorer(0, 1, 0, 1, 0, 0)).float()
    pooled = pooler(tokens).tokens
    pooled.states.sum().backward()
    assert pooled.origin.tolist() == [[0, 1, 3]]
    assert torch.equal(pooled.states, tokens.states[:, [0, 1, 3]])
    assert isinstance(pooler.scorer, ConstantScorer)
    assert pooler.scorer.scores.grad is not None
    assert pooler.scorer.scores.grad.isfinite().all()
