import pytest
import torch
from torch import Tensor, nn

from sumpool.core.boundaries import Boundaries, Segmentation
from sumpool.core.nn.states import Segments, memberships
from sumpool.core.pooling.segments import SegmentsPooler, SegmentsPoolerConfig
from sumpool.core.tokens import Tokens
from tests.core.batches import make_tokens, mask_of


class ConstantBoundaries(Boundaries):
    """Segment ends by given values."""

    def __init__(self, ends: Tensor) -> None:
        nn.Module.__init__(self)
        self.ends = ends

    def forward(self, tokens: Tokens) -> Segmentation:
        return Segmentation(self.ends, {"boundaries": tokens.states.sum() * 0})


def dense(states: Tensor, ends: Tensor) -> Tensor:
    """Equations 5 and 6 on one document (length, dim), with a matrix of length x segments; the last end is 1."""
    before = ends.cumsum(0) - ends
    segment = torch.arange(int(ends.sum()))[:, None]
    weights = torch.where(before.detach().round() == segment, 1 - (segment - before), 0.0)
    return (weights / weights.sum(1, keepdim=True)) @ states


@pytest.mark.parametrize("lengths", [(1,), (64, 1, 37)])
@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_value_and_gradient_are_those_of_the_dense_form(lengths: tuple[int, ...], rate: float) -> None:
    mask = mask_of(*lengths)
    ends = (torch.rand(mask.shape, dtype=torch.float64) < rate).double().requires_grad_()
    states = torch.randn(*mask.shape, 5, dtype=torch.float64, requires_grad=True)
    segments = Segments.from_ends(ends, mask)
    pooled = segments.mean(states * mask[..., None], memberships(ends, mask))
    weights = torch.randn_like(pooled)
    (pooled * weights).sum().backward()
    for row, length in enumerate(lengths):
        document_ends = ends[row, :length].detach().clone()
        document_ends[-1] = 1
        document_ends.requires_grad_()
        vectors = states[row, :length].detach().clone().requires_grad_()
        expected = dense(vectors, document_ends)
        assert segments.mask[row].sum() == len(expected)
        torch.testing.assert_close(pooled[row, : len(expected)], expected)
        assert not pooled[row, len(expected) :].any()
        (expected * weights[row, : len(expected)]).sum().backward()
        assert ends.grad is not None
        assert states.grad is not None
        expected_grad = document_ends.grad[: length - 1]  # type: ignore[index]
        torch.testing.assert_close(ends.grad[row, : length - 1], expected_grad)
        torch.testing.assert_close(states.grad[row, :length], vectors.grad)


def test_weights_are_exactly_one_where_sums_are_rounded() -> None:
    soft = torch.rand(2, 4000)
    ends = (soft > 0.3).float() + soft - soft.detach()
    weights = memberships(ends + 1e-4 * torch.rand_like(soft), torch.ones(2, 4000, dtype=torch.bool))
    assert set(weights.flatten().tolist()) == {1.0}


@pytest.mark.parametrize("combine", ["mean", "last"])
def test_segments_become_means_or_last_vectors_with_the_position_of_the_last_token(combine: str) -> None:
    tokens = make_tokens(5, 3)
    ends = torch.tensor([[0.0, 1, 0, 0, 0], [1, 1, 0, torch.nan, 1]])
    pooler = SegmentsPooler(SegmentsPoolerConfig.model_validate({"combine": combine}), nn.Embedding(50, 16))
    pooler.boundaries = ConstantBoundaries(ends)
    result = pooler(tokens)
    pooled = result.tokens
    assert pooled.mask.tolist() == [[True, True, False], [True, True, True]]
    assert pooled.positions[pooled.mask].tolist() == [1, 4, 0, 1, 2]
    first = tokens.states[0, :2].mean(0) if combine == "mean" else tokens.states[0, 1]
    torch.testing.assert_close(pooled.states[0, 0], first)
    torch.testing.assert_close(pooled.states[1], tokens.states[1, :3])
    assert pooled.metrics["shortening"].item() == pytest.approx(8 / 5)
    assert pooled.losses.keys() == {"boundaries"}
    mixture = result.mixture()
    expected = [[0, 1], [2, 3, 4], [0], [1], [2]] if combine == "mean" else [[1], [4], [0], [1], [2]]
    members, weights = mixture.members[pooled.mask], mixture.weights[pooled.mask]
    assert [row[weight > 0].tolist() for row, weight in zip(members, weights, strict=True)] == expected


def test_half_precision_sums_in_single() -> None:
    tokens = make_tokens(1000, dtype=torch.bfloat16)
    config = SegmentsPoolerConfig.model_validate({"boundaries": {"kind": "fixed", "size": 1000}})
    pooled = config.build(nn.Embedding(50, 16))(tokens).tokens
    assert pooled.states.dtype is torch.bfloat16
    torch.testing.assert_close(pooled.states[0, 0], tokens.states[0].double().mean(0).bfloat16())
