import pytest
import torch

from sumpool.core.attention._base import Attention
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.nn.layers import split_heads
from sumpool.core.tokens import Tokens
from sumpool.errors import CheckpointError
from sumpool.settings import kinds
from sumpool.studies.attention_map import attention_map
from sumpool.studies.attentions import attention_config

LENGTH, DIM, HEADS = 21, 16, 4
POSITIONS = torch.arange(LENGTH)[None]


def build(kind: str) -> tuple[Attention, torch.Tensor]:
    torch.manual_seed(1)
    attention: Attention = attention_config(kind, LENGTH, HEADS).build(DIM, HEADS).double().eval()
    return attention, torch.randn(1, LENGTH, DIM, dtype=torch.float64)


def test_weights_of_full_attention_are_its_softmax() -> None:
    attention, states = build("vanilla")
    query, key, _ = (split_heads(part, HEADS) for part in attention.project(states).chunk(3, dim=-1))
    expected = torch.softmax(query @ key.mT / (DIM // HEADS) ** 0.5, dim=-1)[0]
    torch.testing.assert_close(attention_map(attention, states, POSITIONS), expected)


@pytest.mark.parametrize("kind", kinds("sumpool.core.attention"))
def test_weights_give_the_output_and_the_attention_received(kind: str) -> None:
    attention, states = build(kind)
    try:
        weights = attention_map(attention, states, POSITIONS)
    except CheckpointError as error:
        assert "must mix the values of tokens" in str(error)  # noqa: PT017
        assert kind in ("skeinformer", "lsh", "v_mean", "synthesizer", "convolutional", "global_tokens")
        return
    assert weights.shape == (HEADS, LENGTH, LENGTH)
    value = split_heads(attention.project(states).chunk(3, dim=-1)[2], HEADS)[0]
    output = attention.out((weights @ value).transpose(0, 1).flatten(1))[None]
    torch.testing.assert_close(output, attention(Tokens.of_states(states, positions=POSITIONS)), rtol=1e-6, atol=1e-8)
    mask = torch.ones(1, LENGTH, dtype=torch.bool)
    received = attention.attention_received(Tokens.of_states(states, mask, POSITIONS), True)
    torch.testing.assert_close(weights.mean(0).sum(0)[None], received.double(), rtol=1e-4, atol=1e-5)
    if attention.row_stochastic:
        torch.testing.assert_close(weights.sum(-1), torch.ones(HEADS, LENGTH, dtype=torch.float64), rtol=1e-5, atol=0)


def test_blocks_attend_to_themselves() -> None:
    attention = BlockwiseAttentionConfig(block=8).build(DIM, HEADS).double().eval()
    states = torch.randn(1, LENGTH, DIM, dtype=torch.float64)
    weights = attention_map(attention, states, POSITIONS)
    value = split_heads(attention.project(states).chunk(3, dim=-1)[2], HEADS)[0]
    output = attention.out((weights @ value).transpose(0, 1).flatten(1))[None]
    torch.testing.assert_close(output, attention(Tokens.of_states(states, positions=POSITIONS)))
    assert float(weights[:, :8, 8:].abs().max()) == 0


def test_an_attention_without_such_weights_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"ConvolutionalAttention must mix the values .* another attention"):
        attention_map(*build("convolutional"), POSITIONS)
