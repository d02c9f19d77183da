"""Models for long documents of transformers, random, in the sizes of ours.

All have an encoder and a decoder of as many layers, heads and features as ours; they differ in what the encoder's
tokens see. Whatever our pooling saves they do not.
"""

import logging
from typing import Any

from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.model.config import ModelConfig
from sumpool.special_tokens import BOS, EOS, PAD

GLOBAL_TOKENS = 32
"""Of PEGASUS-X, as published."""
_PIECES = {
    "pad_token_id": PAD,
    "bos_token_id": BOS,
    "eos_token_id": EOS,
    "decoder_start_token_id": BOS,
    "forced_eos_token_id": None,  # or their last token would be no choice of theirs
}


def led(config: ModelConfig, vocabulary: int) -> Any:  # noqa: ANN401 - a type of transformers
    """Longformer's encoder (Beltagy et al., 2020): every token sees a window of one of our blocks around it.

    No token sees, and is seen by, all others, as the first one usually does: that would only add work.
    """
    from transformers import LEDConfig, LEDForConditionalGeneration

    # It says once that documents are padded to whole windows.
    logging.getLogger("transformers.models.led.modeling_led").setLevel(logging.ERROR)
    window = 2 * max(1, block_of(config) // 2)
    return LEDForConditionalGeneration(
        LEDConfig(
            attention_window=window,
            max_encoder_position_embeddings=-(-config.source_length // window) * window,
            max_decoder_position_embeddings=config.target_length,
            **_sizes(config, vocabulary),
        )
    )


def pegasus_x(config: ModelConfig, vocabulary: int) -> Any:  # noqa: ANN401
    """PEGASUS-X (Phang et al., 2022): blocks as ours, shifted by half in every other layer, and some global tokens."""
    from transformers import PegasusXConfig, PegasusXForConditionalGeneration

    return PegasusXForConditionalGeneration(
        PegasusXConfig(
            block_size=2 * max(1, block_of(config) // 2),
            num_global_tokens=GLOBAL_TOKENS,
            max_position_embeddings=config.source_length,
            **_sizes(config, vocabulary),
        )
    )


def long_t5(config: ModelConfig, vocabulary: int) -> Any:  # noqa: ANN401
    """LongT5 (Guo et al., 2022) with local attention: every token sees half a block of ours to either side."""
    from transformers import LongT5Config, LongT5ForConditionalGeneration

    return LongT5ForConditionalGeneration(
        LongT5Config(
            vocab_size=vocabulary,
            d_model=config.dim,
            d_kv=config.dim // config.heads,
            d_ff=config.feed_forward,
            num_layers=len(config.encoder),
            num_decoder_layers=config.decoder.layers,
            num_heads=config.heads,
            local_radius=max(1, block_of(config) // 2 - 1),
            dropout_rate=config.dropout,
            feed_forward_proj=config.activation,
            **_PIECES,
        )
    )


def bart(config: ModelConfig, vocabulary: int) -> Any:  # noqa: ANN401
    """BART (Lewis et al., 2020) with as many positions as the longest document has: every token sees all others."""
    from transformers import BartConfig, BartForConditionalGeneration

    return BartForConditionalGeneration(
        BartConfig(
            max_position_embeddings=max(config.source_length, config.target_length),
            attn_implementation="sdpa",
            **_sizes(config, vocabulary),
        )
    )


def block_of(config: ModelConfig) -> int:
    """Give the block of our model's first blockwise layer, or the usual one where it has none."""
    attentions = (layer.attention for layer in config.encoder)
    return next(
        (found.block for found in attentions if isinstance(found, BlockwiseAttentionConfig)),
        BlockwiseAttentionConfig().block,
    )


def _sizes(config: ModelConfig, vocabulary: int) -> dict[str, Any]:
    """Name our sizes as the descendants of BART do."""
    layers = {"encoder": len(config.encoder), "decoder": config.decoder.layers}
    halves = {f"{half}_layers": count for half, count in layers.items()}
    for half in layers:
        halves |= {f"{half}_attention_heads": config.heads, f"{half}_ffn_dim": config.feed_forward}
    return {
        "vocab_size": vocabulary,
        "d_model": config.dim,
        "activation_function": config.activation,
        "dropout": config.dropout,
        **halves,
        **_PIECES,
    }
