"""Tiny BARTs and LEDs of transformers with random weights, and ours made from them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor
from transformers import BartConfig, BartForConditionalGeneration, LEDConfig, LEDForConditionalGeneration

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.pretrained.config import Changes, read_original, settings_of
from sumpool.pretrained.folder import Tensors
from sumpool.pretrained.renumbering import renumber
from sumpool.pretrained.weights import translate
from sumpool.special_tokens import PAD
from sumpool.training.weights import set_weights

VOCABULARY = 60
THEIR_BEGIN, THEIR_PAD, THEIR_END, THEIR_UNKNOWN, THEIR_LINE_FEED = 0, 1, 2, 3, 40
PIECES = renumber(VOCABULARY, THEIR_PAD, THEIR_UNKNOWN, THEIR_END, THEIR_LINE_FEED)
NOTHING = Changes()

Theirs = BartForConditionalGeneration | LEDForConditionalGeneration
TheirsT = TypeVar("TheirsT", BartForConditionalGeneration, LEDForConditionalGeneration)


def random_bart(seed: int, **settings: Any) -> BartForConditionalGeneration:  # noqa: ANN401
    """A BART in which every weight counts; settings by the names of transformers, `sizes` by ours."""
    config = BartConfig(**_sizes(max_position_embeddings=48) | settings)
    return _shake(BartForConditionalGeneration(config), seed)


def random_led(seed: int, **settings: Any) -> LEDForConditionalGeneration:  # noqa: ANN401
    """An LED in which every weight counts."""
    usual = _sizes(max_encoder_position_embeddings=96, max_decoder_position_embeddings=32, attention_window=[8, 4])
    return _shake(LEDForConditionalGeneration(LEDConfig(**usual | settings)), seed)


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
            spread = torch.randn(weight.shape, generator=generator)
            weight.copy_(1 + 0.2 * spread if "norm" in name and "weight" in name else 0.5 * spread)
        model.final_logits_bias.copy_(torch.randn(model.final_logits_bias.shape, generator=generator))
    model.train(mode=False)
    return model


@dataclass(frozen=True)
class Batch:
    """Documents and summaries by the numbers of both.

    Attributes:
        ids: (batch, length), ours.
        mask: (batch, length), True at real tokens.
        target: (batch, target), ours, closed by END.
        theirs: (batch, length), the documents in their numbers.
        read: (batch, target), what their decoder is given.
    """

    ids: Tensor
    mask: Tensor
    target: Tensor
    theirs: Tensor
    read: Tensor


def random_batch(seed: int, lengths: tuple[int, ...], target: int = 9) -> Batch:
    """Documents of these lengths, and a summary of the same length for each."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.randint(5, VOCABULARY, mask.shape, generator=generator).masked_fill(~mask, PAD)
    written = torch.randint(5, VOCABULARY, (len(lengths), target), generator=generator)
    numbers = torch.tensor([THEIR_END if number is None else number for number in PIECES])
    read = torch.cat([torch.full((len(lengths), 1), THEIR_END), numbers[written][:, :-1]], dim=1)
    return Batch(ids, mask, written, numbers[ids], read)


def imported(folder: Path, changes: Changes = NOTHING) -> SummarizationModel:
    """Make ours from a folder of theirs."""
    original = read_original(folder)
    config = settings_of(original, changes, folder)
    return built(config, translate(Tensors(folder), original, config, PIECES, changes.extend))


def built(config: ModelConfig, weights: dict[str, Tensor], vocabulary: int = len(PIECES)) -> SummarizationModel:
    """Build a model with these weights."""
    model = SummarizationModel(config, vocabulary)
    set_weights(model, weights, "translated")
    return model.eval()
