from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from sumpool.core.boundaries.unigram import UnigramBoundariesConfig
from sumpool.core.tokens import Tokens


@pytest.mark.slow
def test_phrase_ends_are_learned(make_tokens: Callable[..., Tokens]) -> None:
    """Cross-entropy on logits: the threshold is a target probability of one half."""
    boundaries = UnigramBoundariesConfig(hidden=32).build(nn.Embedding(50, 16)).double()
    tokens = make_tokens(300, 41)
    before = F.pad((tokens.states[..., 0] > 0.3).long(), (1, 0))[:, :-1]
    tokens = replace(tokens, phrases=before.cumsum(1))
    optimizer = torch.optim.Adam(boundaries.parameters(), 0.02)
    losses = []
    for _ in range(150):
        loss = boundaries(tokens).losses["boundaries"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10
    ends = boundaries.eval()(replace(tokens, phrases=None)).ends
    correct = (ends > 0.5) == (tokens.states[..., 0] > 0.3)
    assert correct[tokens.mask].double().mean() > 0.98


def test_the_loss_is_cross_entropy_on_logits(make_tokens: Callable[..., Tokens]) -> None:
    boundaries = UnigramBoundariesConfig(hidden=8).build(nn.Embedding(50, 16)).double()
    tokens = replace(make_tokens(4), phrases=torch.tensor([[0, 0, 1, 1]]))
    probability = boundaries.predictor(tokens).sigmoid()[0]
    expected = -torch.where(torch.tensor([False, True, False, True]), probability, 1 - probability).log().mean()
    assert boundaries(tokens).losses["boundaries"].item() == pytest.approx(expected.item())


def test_without_phrases_there_is_no_loss_and_no_gradient(make_tokens: Callable[..., Tokens]) -> None:
    boundaries = UnigramBoundariesConfig().build(nn.Embedding(50, 16)).double()
    tokens = make_tokens(300)
    segmentation = boundaries(tokens)
    assert segmentation.losses == {}
    assert torch.equal(segmentation.ends > 0.5, boundaries.predictor(tokens).sigmoid() > 0.5)
    assert 0 < segmentation.ends.mean() < 1
    assert not segmentation.ends.requires_grad
