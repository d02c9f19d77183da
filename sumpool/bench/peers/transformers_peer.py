"""Models for long documents of transformers, random, in the sizes of ours.

All have an encoder and a decoder of as many layers, heads and features as ours; they differ in what the encoder's
tokens see. None of them pools. Special tokens have our numbers.
"""

import logging
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, final

import torch
from torch import Tensor

from sumpool.bench.config import Workload
from sumpool.bench.workload import NAMES, Conditions, Contender, Documents
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.model.config import ModelConfig
from sumpool.special_tokens import BOS, EOS, PAD

Build = Callable[[ModelConfig, int], Any]
"""Builds a model of transformers, with random weights, of our configuration and the size of the vocabulary."""
GLOBAL_TOKENS = 32
"""Of PEGASUS-X, as published."""
TOKEN_IDS = {
    "pad_token_id": PAD,
    "bos_token_id": BOS,
    "eos_token_id": EOS,
    "decoder_start_token_id": BOS,
    "forced_eos_token_id": None,  # by default EOS would be forced
}
"""Our special tokens under the names of transformers."""


@final
class TransformersPeer(Contender):
    """A model of transformers as a contender.

    Its weights are created when they are first needed, and freed with it. They have the precision of the conditions, in
    training too: nothing is faster for it.
    """

    def __init__(self, build: Build, config: ModelConfig, conditions: Conditions) -> None:
        self.build, self.config, self.conditions = build, config, conditions

    @cached_property
    def model(self) -> Any:  # noqa: ANN401 - a type of transformers
        """The model, on the device."""
        torch.manual_seed(self.conditions.seed)
        model = self.build(self.config, self.conditions.vocabulary)
        return model.to(self.conditions.device, self.conditions.precision)

    def precision_of(self, workload: Workload) -> str:
        """Precision of all workloads."""
        del workload
        return NAMES[self.conditions.precision]

    def train(self, documents: Documents) -> None:
        """Run forward and backward of one training step."""
        self.model.train()
        output = self.model(input_ids=documents.ids, labels=documents.target, use_cache=False)
        output.loss.backward()
        self.model.zero_grad(set_to_none=True)

    def encode(self, documents: Documents) -> Tensor:
        """Encode the documents, (batch, length, dim)."""
        self.model.eval()
        with torch.inference_mode():
            states: Tensor = self.model.get_encoder()(documents.ids).last_hidden_state
        return states

    def generate(self, documents: Documents, beams: int, tokens: int) -> Tensor:
        """Encode the documents and generate exactly `tokens` tokens for each: (batch, tokens)."""
        from transformers import GenerationConfig

        self.model.eval()
        settings = GenerationConfig(
            num_beams=beams,
            do_sample=False,
            use_cache=True,
            min_new_tokens=tokens,
            max_new_tokens=tokens,
            **TOKEN_IDS,
        )
        with torch.inference_mode():
            summaries: Tensor = self.model.generate(documents.ids, generation_config=settings)
        return summaries[:, 1:]  # without BOS


def led(config: ModelConfig, vocabulary: int) -> Any:  # noqa: ANN401 - a type of transformers
    """Longformer's encoder (Beltagy et al., 2020): every token sees a window of one of our blocks around it.

    No token is global, as the first one usually is: that would only add work.
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
            **TOKEN_IDS,
        )
    )


def bart(config: ModelConfig, vocabulary: int) -> Any:  # noqa: ANN401
    """BART (Lewis et al., 2020) with as many positions as the longest document has: every token sees all others."""
    from transformers import BartConfig, BartForConditionalGeneration

    positions = max(config.source_length, config.target_length)
    sizes = _sizes(config, vocabulary)
    return BartForConditionalGeneration(
        BartConfig(max_position_embeddings=positions, attn_implementation="sdpa", **sizes)
    )


BUILDS: Mapping[str, Build] = {"LED": led, "PEGASUS-X": pegasus_x, "LongT5": long_t5, "BART": bart}


def block_of(config: ModelConfig) -> int:
    """Block of our model's first blockwise layer, or the default one where it has none."""
    attentions = (layer.attention for layer in config.encoder if isinstance(layer.attention, BlockwiseAttentionConfig))
    return next(attentions, BlockwiseAttentionConfig()).block


def _sizes(config: ModelConfig, vocabulary: int) -> dict[str, Any]:
    """Our sizes under the names of BART's descendants."""
    sizes: dict[str, Any] = {
        "vocab_size": vocabulary,
        "d_model": config.dim,
        "activation_function": config.activation,
        "dropout": config.dropout,
    }
    for half, layers in (("encoder", len(config.encoder)), ("decoder", config.decoder.layers)):
        sizes |= {
            f"{half}_layers": layers,
            f"{half}_attention_heads": config.heads,
            f"{half}_ffn_dim": config.feed_forward,
        }
    return sizes | TOKEN_IDS
