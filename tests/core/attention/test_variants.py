import math
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention.bigbird import BigbirdAttention, BigbirdAttentionConfig
from sumpool.core.attention.blockwise import BlockwiseAttention, BlockwiseAttentionConfig
from sumpool.core.attention.convolutional import ConvolutionalAttention, ConvolutionalAttentionConfig
from sumpool.core.attention.efficient import EfficientAttentionConfig
from sumpool.core.attention.kernelized import KernelizedAttentionConfig
from sumpool.core.attention.linformer import LinformerAttentionConfig, LinformerSharing
from sumpool.core.attention.lsh import LshAttention, LshAttentionConfig
from sumpool.core.attention.performer import PerformerAttention, PerformerAttentionConfig
from sumpool.core.attention.sinkhorn import SinkhornAttentionConfig
from sumpool.core.attention.skeinformer import SkeinformerAttention, SkeinformerAttentionConfig
from sumpool.core.attention.sliding_window import SlidingWindowAttentionConfig
from sumpool.core.attention.vanilla import VanillaAttentionConfig
from tests.core.attention.checks import assert_equals_masked, assert_equals_naive, attend
from tests.core.batches import make_tokens


def attention_of_phrases(attention: ConvolutionalAttention, states: Tensor) -> Tensor:
    """Output of one document (length, dim)."""
    phrases = -(-len(states) // attention.stride)

    def convolve(values: Tensor) -> Tensor:
        padded = F.pad(values, (0, 0, 0, attention.kernel))
        convolved: Tensor = attention.convolve(padded.mT[None])[0, :, :phrases].mT
        return convolved

    convolved = convolve(attention.project(states)) if attention.per_head else attention.project(convolve(states))
    query, key, value = convolved.reshape(phrases, 3, 4, 4).permute(1, 2, 0, 3)
    distance = (torch.arange(phrases)[:, None] - torch.arange(phrases)).abs()
    far = distance > attention.reach if attention.reach else distance < 0
    weights = (query @ key.mT / 2).masked_fill(far, -math.inf).softmax(-1)
    mixed = (weights @ value).transpose(0, 1).flatten(1)
    output: Tensor = attention.out(attention.distribute(mixed.mT[None])[0, :, : len(states)].mT)
    return output


@pytest.mark.parametrize(
    "config",
    [
        ConvolutionalAttentionConfig(),
        ConvolutionalAttentionConfig(kernel=1, stride=1),
        ConvolutionalAttentionConfig(radius=1),
        ConvolutionalAttentionConfig(kernel=5, stride=2, radius=300),
        ConvolutionalAttentionConfig(per_head=True),
        ConvolutionalAttentionConfig(kernel=4, stride=3, per_head=True, radius=4),
    ],
    ids=str,
)
def test_convolution_equals_attention_of_phrases(config: ConvolutionalAttentionConfig) -> None:
    attention = ConvolutionalAttention(config, 16, 4).double()
    tokens = make_tokens(61, 31, 30, 7, 2, 1, 0, pad=1e3)
    assert_equals_naive(attention, tokens, partial(attention_of_phrases, attention))


def test_bigbird_sees_neighbours_global_and_random_blocks_once() -> None:
    attention = BigbirdAttention(BigbirdAttentionConfig(block=4, random_blocks=2), 16, 4).double()

    def pattern(blocks: int) -> Tensor:
        """Visible blocks of a document, (heads, blocks of queries, blocks of keys)."""
        indices = attention._visible_blocks(torch.full((1, 1, 1, 1), blocks), blocks)[0]
        return F.one_hot(indices + 1, blocks + 1).sum(2)[..., 1:]

    def visible_tokens(length: int) -> Tensor:
        blocks = pattern(-(-length // 4)).repeat_interleave(4, 1).repeat_interleave(4, 2)
        blocks[:, :4] = 1
        return blocks[:, :length, :length] > 0

    assert_equals_masked(attention, make_tokens(62, 41, 11, 1, 0, pad=1e3), visible_tokens)
    visible = pattern(20)
    assert visible.max() == 1
    blocks = torch.arange(20)
    fixed = ((blocks[:, None] - blocks).abs() <= 1) | (blocks == 0)
    assert (visible[:, fixed] == 1).all()
    assert ((visible.sum(2) - fixed.sum(1)) == 2).all()
    assert (visible[0] != visible[1]).any()


def test_blocks_of_padding_are_skipped() -> None:
    attention = BlockwiseAttention(BlockwiseAttentionConfig(block=8), 16, 4).double()
    batch_sizes: list[int] = []
    attention.project.register_forward_pre_hook(lambda _, args: batch_sizes.append(args[0].size(0)))
    tokens = make_tokens(80, 3, 17)
    attention(tokens)
    attention.attention_received(tokens, include_self=True)
    assert batch_sizes == [10 + 1 + 3] * 2


@pytest.mark.parametrize("local_heads", [1, 3])
def test_local_heads_attend_within_a_window(local_heads: int) -> None:
    attention = EfficientAttentionConfig(local_heads=local_heads, window=6).build(16, 4).double()
    whole = EfficientAttentionConfig().build(16, 4).double()
    near = SlidingWindowAttentionConfig(window=6).build(16, 4).double()
    tokens = make_tokens(30, 11, 1, 0)
    torch.nn.init.eye_(attention.out.weight)
    torch.nn.init.zeros_(attention.out.bias)
    for other in (whole, near):
        other.load_state_dict(attention.state_dict())
    mixed, of_whole, of_near = (attend(part, tokens)[tokens.mask] for part in (attention, whole, near))
    linear = 4 * (4 - local_heads)  # features of the linear heads
    torch.testing.assert_close(mixed, torch.cat([of_whole[:, :linear], of_near[:, linear:]], dim=1))


def test_normalised_weights_of_far_keys_do_not_vanish() -> None:
    attention, tokens = KernelizedAttentionConfig(normalize=True).build(16, 4), make_tokens(9, dtype=torch.float32)
    mixed = attention(tokens.with_states(tokens.states * 1e4))
    assert mixed.isfinite().all()
    assert mixed.abs().amin() > 0


def test_linformer_shares_projections() -> None:
    shared: dict[LinformerSharing, int] = {"none": 8, "heads": 2, "keys_values": 1, "keys_values_per_head": 4}
    unreduced: dict[LinformerSharing, int] = {"none": 4, "heads": 1}
    for keeps_length, counts in ((False, shared), (True, unreduced)):
        for sharing, count in counts.items():
            config = LinformerAttentionConfig(rank=7, length=40, sharing=sharing, unreduced=keeps_length)
            parameters = config.build(16, 4).named_parameters()
            sizes = sum(part.numel() for name, part in parameters if name.startswith("project_"))
            assert sizes == count * 7 * 40, (sharing, keeps_length)


def test_a_higher_rank_approximates_full_attention_if_unreduced() -> None:
    tokens, full = make_tokens(50), VanillaAttentionConfig().build(16, 2).double()
    expected = full(tokens)

    def error(rank: int) -> float:
        attention = LinformerAttentionConfig(rank=rank, length=50, unreduced=True).build(16, 2).double()
        attention.load_state_dict(full.state_dict(), strict=False)
        difference = attention(tokens) - expected
        return float(difference.square().mean().sqrt().detach())

    errors = [error(rank) for rank in (64, 1024, 16384)]
    assert errors[1] < errors[0] / 2
    assert errors[2] < errors[1] / 2


def test_long_documents_share_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sumpool.core.attention.lsh._MAX_DIRECTIONS", 3)
    attention = LshAttention(LshAttentionConfig(bucket=4), 16, 4)
    assert attention(make_tokens(100, 9, dtype=torch.float32)).isfinite().all()
    assert attention.rotations.shape == (4, 4, 3)


def test_directions_are_orthogonal_in_blocks() -> None:
    directions = PerformerAttention(PerformerAttentionConfig(features=20, seed=1), 8, 1).directions.double()
    for block in (directions[:8], directions[8:16], directions[16:]):
        products = block @ block.T
        torch.testing.assert_close(products, products.diag().diag(), atol=1e-5, rtol=0)
    many = PerformerAttention(PerformerAttentionConfig(features=8192, seed=1), 8, 1).directions
    lengths = many.square().sum(1)
    assert lengths.mean().item() == pytest.approx(8, rel=0.05)
    assert lengths.std().item() == pytest.approx(4, rel=0.1)


def test_keys_that_matter_are_drawn() -> None:
    """Value norms decide where attention is uniform."""
    mask = torch.ones(1, 50, dtype=torch.bool)
    attention = SkeinformerAttention(SkeinformerAttentionConfig(samples=10), 16, 1).double()
    value = torch.ones(1, 1, 50, 16, dtype=torch.float64)
    value[:, :, 20:25] *= 1e4
    counts = torch.zeros(50)
    for seed in range(50):
        index, is_drawn, _ = attention._draw(torch.full((1, 1, 10, 50), 0.02), value, mask, seed)
        assert is_drawn.all()
        assert len(set(index.flatten().tolist())) == 10
        counts[index.flatten()] += 1
    assert (counts[20:25] == 50).all()
    assert counts[:20].max() < 20


def test_importance_is_the_root_of_squared_weights_times_the_norm_of_the_value() -> None:
    config = SkeinformerAttentionConfig(samples=6, row_normalization="none")  # which returns the odds
    weights, value = torch.rand(2, 4, 6, 20).double(), torch.randn(2, 4, 20, 4).double()
    mask = torch.arange(20) < torch.tensor([20, 13])[:, None]
    index, _, odds = SkeinformerAttention(config, 16, 4)._draw(weights, value, mask, 0)
    importance = weights.norm(dim=2) * value.norm(dim=3) * mask[:, None]
    expected = 6 * importance / importance.sum(2, keepdim=True)
    torch.testing.assert_close(odds, expected.gather(2, index))


def test_large_scores_do_not_overflow() -> None:
    attention, tokens = SkeinformerAttentionConfig(samples=5).build(16, 4), make_tokens(30, dtype=torch.float32)
    assert attention(tokens.with_states(tokens.states * 1e3)).isfinite().all()


def test_sinkhorn_has_finite_gradients_where_shares_of_blocks_vanish() -> None:
    attention, tokens = SinkhornAttentionConfig(block=4).build(16, 4), make_tokens(62, 9, 0, dtype=torch.float32)
    states = (tokens.states * 1e3).requires_grad_()
    attention(tokens.with_states(states)).square().sum().backward()
    for gradient in (states.grad, *(part.grad for part in attention.parameters())):
        assert gradient is not None
        assert gradient.isfinite().all()
