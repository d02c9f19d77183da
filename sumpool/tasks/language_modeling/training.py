"""Training of language models: windows of prepared text, a model with its initial weights, and its model card."""

import math
import shlex
from functools import partial
from pathlib import Path

import torch
from torch import nn

from sumpool import __version__
from sumpool.core.model.language_model import LanguageModel
from sumpool.tasks.language_modeling.config import LanguageModelRecipe
from sumpool.tasks.language_modeling.prepare import TextReport
from sumpool.tasks.language_modeling.stream import (
    ConsecutiveWindows,
    TextStream,
    TextWindows,
    WindowSampler,
    collate_windows,
)
from sumpool.text.escaping import escape_line, escape_markdown_line, markdown_table
from sumpool.text.tokenizer import Tokenizer
from sumpool.training.checkpoint import TrainingState
from sumpool.training.data_order import BatchPlan, TrainingData
from sumpool.training.initial_weights import describe_init


def open_windows(recipe: LanguageModelRecipe, prepared: Path, tokenizer: Tokenizer) -> TrainingData:
    """Open the windows of prepared text.

    Raises:
        DataError: If the text cannot be used.
    """
    training, validation = (TextStream.open(prepared, split, tokenizer.vocab_size) for split in ("train", "validation"))
    length = recipe.model.length
    return TrainingData(
        training=TextWindows(training, length, ring=True),
        validation=ConsecutiveWindows(validation, length),
        source_length=length,
        target_length=length,
        seed=recipe.seed,
        special_tokens=tokenizer.special_tokens,
        collate=collate_windows,
        sampler=partial(_plan, len(training), recipe),
    )


def build_language_model(recipe: LanguageModelRecipe, tokenizer: Tokenizer) -> LanguageModel:
    """Build the model of a recipe with random weights; tokens of white space end words."""
    separators = torch.tensor([bool(token) and token.isspace() for token in tokenizer.token_bytes()])
    return LanguageModel(recipe.model, tokenizer.vocab_size, separators, tokenizer.special_tokens)


def _plan(tokens: int, recipe: LanguageModelRecipe, batch_tokens: int) -> BatchPlan:
    return WindowSampler(tokens, recipe.model.length, batch_tokens, recipe.seed, rotate=recipe.train.rotate)


def model_card(run: Path, recipe: LanguageModelRecipe, model: nn.Module, state: TrainingState) -> str:
    """Render the model card of a finished run as Markdown."""
    data = TextReport.load(run)
    beginning = "scratch"
    if recipe.train.init_from:
        beginning = escape_markdown_line(describe_init(recipe.train.init_from))
    boundaries = " and ".join(level.kind for level in recipe.model.boundaries) or "none"
    folder = escape_line(shlex.quote(str(run)))
    assert state.best_loss is not None, "a finished run was validated"
    bits = state.best_loss / math.log(2)
    return f"""\
# {recipe.name}

Language model of {recipe.data.vocabulary}, trained from {beginning} with sumpool {__version__} (torch
{torch.__version__}).

    sumpool evaluate {folder}
    sumpool generate {folder}

| | |
|---|---|
| parameters | {sum(parameter.numel() for parameter in model.parameters()):,} |
| boundaries of segments | {boundaries} |
| training window | {recipe.model.length:,} tokens |
| vocabulary | {data.vocabulary:,} tokens |
| trained on | {data.splits["train"].tokens:,} tokens, {state.step:,} updates, {state.position.epoch} complete epochs |
| validation loss | {bits:.4f} bits per token after step {state.best_step:,}, of which these are the weights |
| seed | {recipe.seed} |

## Data

{chr(10).join(markdown_table(data.rows()))}

## Limitations

The model continues text in the manner of its training text, true or not, and may repeat parts of it.

## Files

`recipe.yaml` is the complete recipe, `metrics.jsonl` the metrics of every update and validation, `report.json` the data
report, `curves.svg` the losses, `manifest.json` the size and SHA-256 of every file that the model depends on. No file
contains code.
"""
