from math import prod

import pytest
from torch import nn

from sumpool.bench.peers.transformers_models import bart, block_of, led, long_t5, pegasus_x
from sumpool.bench.peers.transformers_peer import Build
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.attention.sliding_window import SlidingWindowAttentionConfig
from sumpool.core.attention.vanilla import VanillaAttentionConfig
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.output.tied import TiedOutputConfig

VOCABULARY, DIM, FEED_FORWARD = 100, 64, 96
ENCODER_LAYERS, DECODER_LAYERS = 3, 2
BARTS_OFFSET = 2
"""Places before the first one in its positions, of encoder and decoder."""


def config_with(
    attention: BlockwiseAttentionConfig | VanillaAttentionConfig | SlidingWindowAttentionConfig,
) -> ModelConfig:
    """A model that learns all that BART does; fewer positions than features."""
    return ModelConfig(
        dim=DIM,
        heads=4,
        feed_forward=FEED_FORWARD,
        positions="learned",
        embedding_norm=True,
        norm="post",
        source_length=32,
        target_length=32,
        encoder=(EncoderLayerConfig(attention=attention),) * ENCODER_LAYERS,
        decoder=DecoderConfig(layers=DECODER_LAYERS, positions="learned"),
        output=TiedOutputConfig(bias=False),
    )


BLOCKWISE = config_with(BlockwiseAttentionConfig(block=8))


def count(model: nn.Module) -> int:
    return sum(weights.numel() for weights in model.parameters())


def test_bart_has_as_many_weights_as_ours() -> None:
    ours = SummarizationModel(config_with(VanillaAttentionConfig()), VOCABULARY)
    assert count(bart(BLOCKWISE, VOCABULARY)) == count(ours) + 2 * BARTS_OFFSET * DIM


def test_led_has_as_many_weights_as_ours() -> None:
    ours = SummarizationModel(config_with(SlidingWindowAttentionConfig(window=8, global_first=True)), VOCABULARY)
    assert count(led(BLOCKWISE, VOCABULARY)) == count(ours)


@pytest.mark.parametrize(("build", "more"), [(bart, 0), (pegasus_x, 0), (long_t5, 0), (led, 3)])
def test_every_matrix_is_that_of_the_shape(build: Build, more: int) -> None:
    """`more` are the projections that LED has for tokens that see everything."""
    weights = dict(build(BLOCKWISE, VOCABULARY).named_parameters()).values()
    found = sum(prod(weight.shape) for weight in weights if weight.ndim == 2 and min(weight.shape) >= DIM)
    encoder = ENCODER_LAYERS * ((4 + more) * DIM * DIM + 2 * DIM * FEED_FORWARD)
    decoder = DECODER_LAYERS * (8 * DIM * DIM + 2 * DIM * FEED_FORWARD)
    assert found == encoder + decoder + VOCABULARY * DIM


def test_what_a_token_sees_is_as_wide_as_our_block() -> None:
    config = config_with(BlockwiseAttentionConfig(block=512))
    assert set(led(config, VOCABULARY).config.attention_window) == {512}
    assert pegasus_x(config, VOCABULARY).config.block_size == 512
    assert pegasus_x(config, VOCABULARY).config.num_global_tokens == 32
    assert long_t5(config, VOCABULARY).config.local_radius == 255
    assert bart(config, VOCABULARY).config._attn_implementation == "sdpa"


def test_the_block_is_that_of_the_first_blockwise_layer() -> None:
    assert block_of(BLOCKWISE) == 8
    assert block_of(config_with(VanillaAttentionConfig())) == BlockwiseAttentionConfig().block


@pytest.mark.parametrize("build", [bart, pegasus_x, long_t5, led])
def test_dropout_and_activation_are_ours(build: Build) -> None:
    config = BLOCKWISE.model_copy(update={"dropout": 0.3, "activation": "gelu"})
    model = build(config, VOCABULARY)
    assert {getattr(model.config, name, 0.3) for name in ("dropout", "dropout_rate")} == {0.3}
    assert "gelu" in (getattr(model.config, "activation_function", None), getattr(model.config, "dense_act_fn", None))
