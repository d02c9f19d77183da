"""Contract of cross-attentions, tested on every variant in the folder."""

import pytest
import torch
from torch import Tensor

from sumpool.core.cross_attention import CrossAttention, CrossAttentionConfig
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.masking import zero_padding
from sumpool.core.tokens import Tokens
from sumpool.settings import config_class, kinds
from tests.core.batches import alone, make_tokens

KINDS = kinds("sumpool.core.cross_attention")


def build(kind: str) -> CrossAttention:
    config = config_class("sumpool.core.cross_attention", kind)()
    assert isinstance(config, CrossAttentionConfig)
    return config.build(16, 4).double().eval()


def precompute(attention: CrossAttention, kind: str, tokens: Tokens) -> dict[str, Tensor]:
    config = config_class("sumpool.core.cross_attention", kind)()
    assert isinstance(config, CrossAttentionConfig)
    torch.manual_seed(2)
    return attention.precompute(tokens, config.build_memory_encoder(16).double().eval()(tokens))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [(1, 37), (64, 1000, 3)])
def test_padding_and_batch_mates_do_not_change_results(kind: str, lengths: tuple[int, ...]) -> None:
    attention = build(kind)
    queries = torch.randn(len(lengths), 6, 16, dtype=torch.float64)
    tokens = make_tokens(*lengths, length=max(lengths) + 8, pad=torch.nan)
    actual = attention(queries, precompute(attention, kind, tokens)).states
    for document in range(len(lengths)):
        expected = attention(
            queries[document : document + 1], precompute(attention, kind, alone(tokens, document))
        ).states
        torch.testing.assert_close(actual[document : document + 1], expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_queries_are_independent(kind: str) -> None:
    attention = build(kind)
    queries = torch.randn(2, 6, 16, dtype=torch.float64)
    precomputed = precompute(attention, kind, make_tokens(40, 22))
    actual = attention(queries, precomputed).states
    for position in range(6):
        one = attention(queries[:, position : position + 1], precomputed).states
        torch.testing.assert_close(actual[:, position : position + 1], one, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_gets_a_finite_gradient(kind: str) -> None:
    attention = build(kind)
    queries = torch.randn(2, 6, 16, dtype=torch.float64)
    attention(queries, precompute(attention, kind, make_tokens(30, 7))).states.square().sum().backward()
    for name, parameter in attention.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("kind", KINDS)
def test_attention_weights_reproduce_the_output(kind: str) -> None:
    attention = build(kind)
    queries = torch.randn(3, 6, 16, dtype=torch.float64)
    tokens = make_tokens(150, 22, 1)
    precomputed = precompute(attention, kind, tokens)
    weights = attention.attention_weights(queries, precomputed, 150)  # (batch, heads, target, length)
    weights = weights * tokens.mask[:, None, None]
    torch.testing.assert_close(weights[:2].sum(-1), torch.ones(2, 4, 6, dtype=torch.float64), atol=1e-12, rtol=0)
    value = split_heads(attention.key_value(zero_padding(tokens.states, tokens.mask)).chunk(2, dim=-1)[1], 4)
    expected = attention.out(merge_heads(weights @ value))
    torch.testing.assert_close(attention(queries, precomputed).states, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_half_precision_agrees_with_float64(kind: str, half_precision: torch.dtype) -> None:
    attention, queries, tokens = build(kind), torch.randn(3, 6, 16, dtype=torch.float64), make_tokens(40, 7, 0)
    expected = attention(queries, precompute(attention, kind, tokens)).states
    config = config_class("sumpool.core.cross_attention", kind)()
    assert isinstance(config, CrossAttentionConfig)
    torch.manual_seed(2)
    encoder = config.build_memory_encoder(16).eval().to(half_precision)
    half_tokens = tokens.with_states(tokens.states.to(half_precision))
    precomputed = attention.to(half_precision).precompute(half_tokens, encoder(half_tokens))
    mixed = attention(queries.to(half_precision), precomputed).states
    torch.testing.assert_close(mixed.double(), expected, atol=0.05, rtol=0)
    assert attention.attention_weights(queries.to(half_precision), precomputed, 40).isfinite().all()
    mixed.square().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in attention.parameters() if parameter.grad is not None)
