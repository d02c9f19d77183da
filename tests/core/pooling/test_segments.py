from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.boundaries._base import Boundaries, Segmentation
from sumpool.core.pooling.segments import Segments, SegmentsPooler, SegmentsPoolerConfig, memberships
from sumpool.core.tokens import Tokens


class Given(Boundaries):
    """Cuts where it is told to."""

    def __init__(self, ends: Tensor) -> None:
        super().__init__()
        self.ends = ends

    def forward(self, tokens: Tokens) -> Segmentation:
        return Segmentation(self.ends, {"boundaries": tokens.states.sum() * 0})


def mask_of(*lengths: int) -> Tensor:
    return torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]


def dense(states: Tensor, ends: Tensor) -> Tensor:
    """Equations 5 and 6 on one document (length, dim), with its matrix of length x segments; the last end is 1."""
    before = ends.cumsum(0) - ends
    segment = torch.arange(int(ends.sum()))[:, None]
    weights = torch.where(before.detach().round() == segment, 1 - (segment - before), 0.0)
    return (weights / weights.sum(1, keepdim=True)) @ states


@pytest.mark.parametrize("lengths", [(1,), (37, 12), (64, 1, 50)])
@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_value_and_gradient_are_those_of_the_dense_form(lengths: tuple[int, ...], rate: float) -> None:
    mask = mask_of(*lengths)
    ends = (torch.rand(mask.shape, dtype=torch.float64) < rate).double().requires_grad_()
    states = torch.randn(*mask.shape, 5, dtype=torch.float64, requires_grad=True)
    segments = Segments.of(ends, mask)
    left = segments.mean(states * mask[..., None], memberships(ends, mask))
    weigh = torch.randn_like(left)
    (left * weigh).sum().backward()
    for row, length in enumerate(lengths):
        own = ends[row, :length].detach().clone()
        own[-1] = 1
        own.requires_grad_()
        vectors = states[row, :length].detach().clone().requires_grad_()
        expected = dense(vectors, own)
        assert segments.mask[row].sum() == len(expected)
        torch.testing.assert_close(left[row, : len(expected)], expected)
        assert not left[row, len(expected) :].any()
        (expected * weigh[row, : len(expected)]).sum().backward()
        assert ends.grad is not None
        assert states.grad is not None
        torch.testing.assert_close(ends.grad[row, : length - 1], own.grad[: length - 1])  # type: ignore[index]
        torch.testing.assert_close(states.grad[row, :length], vectors.grad)


def test_the_gradient_is_that_of_finite_differences() -> None:
    """The weights are differentiated where they are defined: as functions of the counts, segments being fixed."""
    mask = mask_of(11, 6)
    hard = (torch.rand(mask.shape) < 0.4).double()
    segments = Segments.of(hard, mask)
    states = torch.randn(*mask.shape, 3, dtype=torch.float64, requires_grad=True)
    moved = torch.rand(mask.shape, dtype=torch.float64, requires_grad=True)

    def pool(states: Tensor, moved: Tensor) -> Tensor:
        weights = (1 + moved.cumsum(1) - moved).masked_fill(~mask, 0.0)
        return segments.mean(states * mask[..., None], weights)

    assert torch.autograd.gradcheck(pool, (states, moved))


def test_an_end_between_two_segments_gets_no_gradient_and_one_within_asks_for_a_split() -> None:
    ends = torch.tensor([[0.0, 0, 0, 1, 0, 1]], dtype=torch.float64, requires_grad=True)
    states = torch.tensor([[[0.0], [0], [8], [8], [5], [7]]], dtype=torch.float64)
    mask = mask_of(6)
    left = Segments.of(ends, mask).mean(states, memberships(ends, mask))
    assert left.flatten().tolist() == [4, 6]
    (grad,) = torch.autograd.grad(left[0, 0, 0], ends)
    # share of the tokens after it, times how far their mean lies from the segment's
    expected = [3 / 4 * (16 / 3 - 4), 2 / 4 * (8 - 4), 1 / 4 * (8 - 4), 0, 0, 0]
    torch.testing.assert_close(grad[0], torch.tensor(expected, dtype=torch.float64))


def test_weights_are_exactly_one_where_sums_are_rounded() -> None:
    soft = torch.rand(2, 4000)
    ends = (soft > 0.3).float() + soft - soft.detach()
    weights = memberships(ends + 1e-4 * torch.rand_like(soft), torch.ones(2, 4000, dtype=torch.bool))
    assert set(weights.flatten().tolist()) == {1.0}


@pytest.mark.parametrize("combine", ["mean", "last"])
def test_left_are_means_or_last_vectors_with_what_is_known_of_the_last_token(
    combine: str, make_tokens: Callable[..., Tokens]
) -> None:
    tokens = make_tokens(5, 3)
    ends = torch.tensor([[0.0, 1, 0, 0, 0], [1, 1, 0, torch.nan, 1]])
    pooled = SegmentsPooler(SegmentsPoolerConfig.model_validate({"combine": combine}), Given(ends))(tokens)
    left = pooled.tokens
    assert left.mask.tolist() == [[True, True, False], [True, True, True]]
    assert left.origin[left.mask].tolist() == [1, 4, 0, 1, 2]
    first = tokens.states[0, :2].mean(0) if combine == "mean" else tokens.states[0, 1]
    torch.testing.assert_close(left.states[0, 0], first)
    torch.testing.assert_close(left.states[1], tokens.states[1, :3])
    assert left.metrics["shortening"].item() == pytest.approx(8 / 5)
    assert left.losses.keys() == {"boundaries"}
    mixture = pooled.mixture()
    torch.testing.assert_close(mixture.combine(tokens.states), left.states)
    torch.testing.assert_close(mixture.weights.sum(2), left.mask.double())
    expected = [[0, 1], [2, 3, 4], [0], [1], [2]] if combine == "mean" else [[1], [4], [0], [1], [2]]
    members, weights = mixture.members[left.mask], mixture.weights[left.mask]
    assert [row[weight > 0].tolist() for row, weight in zip(members, weights, strict=True)] == expected


@pytest.mark.parametrize("length", [1, 37, 64, 1000])
def test_any_length_is_left_in_source_order(length: int, make_tokens: Callable[..., Tokens]) -> None:
    pooled = SegmentsPoolerConfig().build(nn.Embedding(50, 16))(make_tokens(length)).tokens
    assert pooled.states.shape == (1, -(-length // 4), 16)
    assert pooled.mask.all()
    assert (pooled.origin.diff() > 0).all()
    assert torch.equal(pooled.sentences, pooled.origin // 5)


def test_what_stands_in_the_padding_changes_no_bit(make_tokens: Callable[..., Tokens]) -> None:
    pooler = SegmentsPoolerConfig().build(nn.Embedding(50, 16))
    clean, hostile = (pooler(make_tokens(37, 80, length=90, pad=pad)).tokens for pad in (0.0, torch.nan))
    assert torch.equal(clean.states, hostile.states)
    assert clean.states.size(1) == 20


@pytest.mark.parametrize("combine", ["mean", "last"])
def test_documents_without_tokens_stay_empty(combine: str, make_tokens: Callable[..., Tokens]) -> None:
    pooler = SegmentsPoolerConfig.model_validate({"combine": combine}).build(nn.Embedding(50, 16))
    for lengths in ((9, 0), (0, 0)):
        pooled = pooler(make_tokens(*lengths, length=9, pad=torch.nan))
        assert pooled.tokens.mask.sum(1).tolist() == [-(-length // 4) for length in lengths]
        assert pooled.tokens.states.isfinite().all()
        assert not pooled.mixture().weights[1].any()


def test_half_precision_sums_in_single(make_tokens: Callable[..., Tokens]) -> None:
    tokens = make_tokens(1000, dtype=torch.bfloat16)
    config = SegmentsPoolerConfig.model_validate({"boundaries": {"kind": "fixed", "size": 1000}})
    left = config.build(nn.Embedding(50, 16))(tokens).tokens
    assert left.states.dtype is torch.bfloat16
    torch.testing.assert_close(left.states[0, 0], tokens.states[0].double().mean(0).bfloat16())


def test_the_layer_before_is_forgotten(make_tokens: Callable[..., Tokens]) -> None:
    tokens = replace(make_tokens(9), phrases=torch.arange(9)[None] // 2)
    left = SegmentsPoolerConfig().build(nn.Embedding(50, 16))(tokens).tokens
    assert left.attention_received is None
    assert left.phrases is not None
    assert left.phrases.tolist() == [[1, 3, 4]]
