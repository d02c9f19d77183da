"""Tiny models of transformers with random weights, and the models converted from them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    LEDConfig,
    LEDForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    MBartConfig,
    MBartForConditionalGeneration,
    PegasusConfig,
    PegasusForConditionalGeneration,
)

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.pretrained.config import ImportOptions, read_config, to_model_config
from sumpool.pretrained.weights import Tensors, convert_weights
from sumpool.special_tokens import SpecialTokens
from sumpool.training.weights import set_weights

VOCABULARY = 60
BOS, PAD, EOS, UNK = range(4)
UNCHANGED = ImportOptions()

Theirs = Any
"""A model of transformers, which has no types."""
CLASSES: dict[str, tuple[Any, Any]] = {
    "bart": (BartConfig, BartForConditionalGeneration),
    "led": (LEDConfig, LEDForConditionalGeneration),
    "mbart": (MBartConfig, MBartForConditionalGeneration),
    "pegasus": (PegasusConfig, PegasusForConditionalGeneration),
    "marian": (MarianConfig, MarianMTModel),
}
"""Classes of configuration and model by `model_type`."""
_USUAL: dict[str, dict[str, Any]] = {
    "bart": {"max_position_embeddings": 48},
    "led": {
        "max_encoder_position_embeddings": 96,
        "max_decoder_position_embeddings": 32,
        "attention_window": [8, 4],
    },
    "mbart": {"max_position_embeddings": 48, "decoder_start_token_id": VOCABULARY - 1, "scale_embedding": True},
    "pegasus": {"max_position_embeddings": 48, "scale_embedding": True, "activation_function": "relu"},
    "marian": {"max_position_embeddings": 48, "scale_embedding": True, "activation_function": "swish"},
}
_STARTS_WITH_PADDING = {
    "decoder_start_token_id": PAD,
    "pad_token_id": PAD,
    "eos_token_id": EOS,
    "forced_eos_token_id": EOS,
}


def random_model(family: str, seed: int, **settings: Any) -> Theirs:  # noqa: ANN401
    """A model in which every weight counts; settings by the names of transformers, `sizes` by ours."""
    sizes = both(attention_heads=2, ffn_dim=24, layers=2)
    usual = {"vocab_size": VOCABULARY, "d_model": 16, **sizes, **_USUAL[family]}
    if family in ("pegasus", "marian"):
        usual |= _STARTS_WITH_PADDING
    config, model = CLASSES[family]
    return _shake(model(config(**usual | settings)), seed)


def both(**sizes: int) -> dict[str, int]:
    """The sizes of encoder and decoder alike, without the first word of their names."""
    return {f"{half}_{name}": size for half in ("encoder", "decoder") for name, size in sizes.items()}


def _shake(model: Theirs, seed: int) -> Theirs:
    """Give every weight a random value, so large that states differ, and the model no rule for writing."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if not weight.requires_grad:  # sinusoidal positions
                continue
            spread = torch.randn(weight.shape, generator=generator)
            weight.copy_(1 + 0.2 * spread if "norm" in name and "weight" in name else 0.5 * spread)
        model.final_logits_bias.copy_(torch.randn(model.final_logits_bias.shape, generator=generator))
    model.train(mode=False)
    return model


@dataclass(frozen=True)
class Batch:
    """Documents and summaries.

    Attributes:
        ids: (batch, length), the documents.
        mask: (batch, length), True at real tokens.
        inputs: (batch, target), input of the decoder.
    """

    ids: Tensor
    mask: Tensor
    inputs: Tensor


def random_batch(seed: int, lengths: tuple[int, ...], target: int = 9, start: int = EOS) -> Batch:
    """Documents of these lengths, and a summary of the same length for each, which begins with the token `start`."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.randint(UNK + 1, VOCABULARY, mask.shape, generator=generator).masked_fill(~mask, PAD)
    summaries = torch.randint(UNK + 1, VOCABULARY, (len(lengths), target), generator=generator)
    return Batch(ids, mask, torch.cat([torch.full((len(lengths), 1), start), summaries[:, :-1]], dim=1))


def imported(folder: Path, options: ImportOptions = UNCHANGED) -> SummarizationModel:
    """Convert the model of a folder."""
    pretrained = read_config(folder)
    config = to_model_config(pretrained, options, folder)
    special_tokens = SpecialTokens(
        pretrained.pad_token_id, pretrained.eos_token_id, pretrained.decoder_start_token_id, suppressed=(PAD, UNK)
    )
    model = SummarizationModel(config, pretrained.vocab_size, special_tokens=special_tokens)
    set_weights(model, convert_weights(Tensors(folder), pretrained, config, options.extend), "converted")
    return model.eval()
