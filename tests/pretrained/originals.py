"""Tiny models of transformers with random weights, and the models converted from them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

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
from sumpool.pretrained.folder import Tensors
from sumpool.pretrained.weights import convert_weights
from sumpool.special_tokens import SpecialTokens
from sumpool.training.weights import set_weights

VOCABULARY = 60
BOS, PAD, EOS, UNK = range(4)
SPECIAL_TOKENS = SpecialTokens(PAD, EOS, decoder_start=EOS, suppressed=(PAD, UNK), prefix=(BOS,), suffix=(EOS,))
UNCHANGED = ImportOptions()

Theirs = (
    BartForConditionalGeneration
    | LEDForConditionalGeneration
    | MarianMTModel
    | MBartForConditionalGeneration
    | PegasusForConditionalGeneration
)
TheirsT = TypeVar("TheirsT", BartForConditionalGeneration, LEDForConditionalGeneration, MarianMTModel)
OTHERS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "marian": (
        MarianConfig,
        MarianMTModel,
        {"activation_function": "swish", "scale_embedding": True, "decoder_start_token_id": 1},
    ),
    "mbart": (MBartConfig, MBartForConditionalGeneration, {"scale_embedding": True, "decoder_start_token_id": 2}),
    "pegasus": (
        PegasusConfig,
        PegasusForConditionalGeneration,
        {"activation_function": "relu", "scale_embedding": True, "decoder_start_token_id": 1},
    ),
}
"""Configuration and model of each other family, and settings of its published models."""


def random_bart(seed: int, **settings: Any) -> BartForConditionalGeneration:  # noqa: ANN401
    """A BART in which every weight counts; settings by the names of transformers, `sizes` by ours."""
    config = BartConfig(**_sizes(max_position_embeddings=48) | settings)
    return _shake(BartForConditionalGeneration(config), seed)


def random_led(seed: int, **settings: Any) -> LEDForConditionalGeneration:  # noqa: ANN401
    """An LED in which every weight counts."""
    usual = _sizes(max_encoder_position_embeddings=96, max_decoder_position_embeddings=32, attention_window=[8, 4])
    return _shake(LEDForConditionalGeneration(LEDConfig(**usual | settings)), seed)


def random_other(family: str, seed: int, **settings: Any) -> Any:  # noqa: ANN401
    """A Marian, mBART or PEGASUS in which every weight counts."""
    config, model, usual = OTHERS[family]
    special_tokens = {"pad_token_id": PAD, "eos_token_id": EOS, "bos_token_id": BOS, "forced_eos_token_id": None}
    usual = {**_sizes(max_position_embeddings=48), **special_tokens, **usual}
    return _shake(model(config(**usual | settings)), seed)


def both(**sizes: int) -> dict[str, int]:
    """The sizes of encoder and decoder alike, without the first word of their names."""
    return {f"{half}_{name}": size for half in ("encoder", "decoder") for name, size in sizes.items()}


def _sizes(**others: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"vocab_size": VOCABULARY, "d_model": 16, **both(attention_heads=2, ffn_dim=24, layers=2), **others}


def _shake(model: TheirsT, seed: int) -> TheirsT:
    """Give every weight a random value, so large that states differ, and the model no rule for writing."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if not weight.requires_grad:  # sinusoids
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
    """Documents of these lengths, and a summary of the same length for each, behind the first input of the decoder."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.randint(UNK + 1, VOCABULARY, mask.shape, generator=generator).masked_fill(~mask, PAD)
    summaries = torch.randint(UNK + 1, VOCABULARY, (len(lengths), target), generator=generator)
    return Batch(ids, mask, torch.cat([torch.full((len(lengths), 1), start), summaries[:, :-1]], dim=1))


def imported(folder: Path, options: ImportOptions = UNCHANGED) -> SummarizationModel:
    """Convert the model of a folder."""
    pretrained = read_config(folder)
    config = to_model_config(pretrained, options, folder)
    model = SummarizationModel(config, pretrained.vocab_size, special_tokens=SPECIAL_TOKENS)
    set_weights(model, convert_weights(Tensors(folder), pretrained, config, options.extend), "converted")
    return model.eval()
