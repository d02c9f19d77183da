"""Contract of boundary predictors, tested on every variant in the package."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import nn

from sumpool.core.pooling.segments import SegmentsPooler, SegmentsPoolerConfig
from sumpool.settings import kinds
from tests.core.batches import alone, make_tokens

KINDS = kinds("sumpool.core.boundaries")


def build(kind: str) -> SegmentsPooler:
    config = SegmentsPoolerConfig.model_validate({"boundaries": {"kind": kind}})
    return config.build(nn.Embedding(50, 16)).double()


@pytest.mark.parametrize("kind", KINDS)
def test_any_length_gives_segments_in_source_order(kind: str) -> None:
    for length, training in product((1, 37, 64, 1000), (True, False)):
        pooled = build(kind).train(training)(make_tokens(length, 1, 0, length=length + 3)).tokens
        segments = pooled.mask.sum(1)
        assert 1 <= segments[0] <= length
        assert segments[1:].tolist() == [1, 0]
        assert pooled.states.isfinite().all()
        assert (pooled.origin[0, : segments[0]].diff() > 0).all()
        assert pooled.origin[0, segments[0] - 1] == length - 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [(1000, 130, 61), (8, 500)])
def test_segments_are_independent_of_padding_and_batch_mates(kind: str, lengths: tuple[int, ...]) -> None:
    pooler = build(kind).eval()
    together = pooler(make_tokens(*lengths)).tokens
    for number in range(len(lengths)):
        single = pooler(alone(make_tokens(*lengths), number)).tokens
        kept = single.states.size(1)
        assert int(together.mask[number].sum()) == kept
        torch.testing.assert_close(together.states[number, :kept], single.states[0], atol=1e-12, rtol=0)
        assert torch.equal(together.origin[number, :kept], single.origin[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("training", [True, False])
def test_segments_are_bitwise_independent_of_padding_values(kind: str, training: bool) -> None:
    pooler = build(kind).train(training)
    outputs = []
    for pad in (0.0, torch.nan):
        torch.manual_seed(3)
        outputs.append(pooler(make_tokens(37, 80, length=90, pad=pad)).tokens)
    clean, noisy = outputs
    assert torch.equal(clean.states, noisy.states)
    assert torch.equal(clean.origin[clean.mask], noisy.origin[noisy.mask])
    assert clean.losses == noisy.losses


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [(1,), (300, 5)])
def test_every_parameter_gets_a_finite_gradient(kind: str, lengths: tuple[int, ...]) -> None:
    pooler = build(kind).train()
    tokens = make_tokens(*lengths, pad=torch.nan)
    states = tokens.states.clone().requires_grad_()
    pooled = pooler(replace(tokens, states=states, phrases=tokens.positions // 3)).tokens
    loss = pooled.states[pooled.mask].square().sum() + sum(pooled.losses.values())
    loss.backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()
    assert not states.grad[~tokens.mask].any()
    for name, parameter in pooler.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert sum(lengths) == 1 or parameter.grad.any(), name


@pytest.mark.parametrize("kind", KINDS)
def test_losses_are_means_over_documents(kind: str) -> None:
    pooler = build(kind).train()
    tokens = make_tokens(37, 64, length=70)
    torch.manual_seed(5)
    together = pooler(replace(tokens, phrases=tokens.positions // 3)).tokens.losses
    single = []
    for number in range(2):
        document = alone(tokens, number)
        torch.manual_seed(5)
        single.append(pooler(replace(document, phrases=document.positions // 3)).tokens.losses)
    for name, loss in together.items():
        assert loss.item() == pytest.approx((single[0][name] + single[1][name]).item() / 2)
