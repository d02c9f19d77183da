from dataclasses import replace

import pytest
import torch
from torch import nn

from sumpool.core.boundaries import UnigramBoundariesConfig
from tests.core.batches import make_tokens


def test_the_loss_is_cross_entropy_on_logits() -> None:
    boundaries = UnigramBoundariesConfig(hidden=8).build(nn.Embedding(50, 16)).double()
    tokens = replace(make_tokens(4), phrases=torch.tensor([[0, 0, 1, 1]]))
    probability = boundaries.predictor(tokens).sigmoid()[0]
    expected = -torch.where(torch.tensor([False, True, False, True]), probability, 1 - probability).log().mean()
    assert boundaries(tokens).losses["boundaries"].item() == pytest.approx(expected.item())


def test_without_phrases_there_is_no_loss_and_no_gradient() -> None:
    boundaries = UnigramBoundariesConfig().build(nn.Embedding(50, 16)).double()
    tokens = make_tokens(300)
    segmentation = boundaries(tokens)
    assert segmentation.losses == {}
    assert torch.equal(segmentation.ends > 0.5, boundaries.predictor(tokens).sigmoid() > 0.5)
    assert 0 < segmentation.ends.mean() < 1
    assert not segmentation.ends.requires_grad
