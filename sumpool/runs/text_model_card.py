"""Model card of a language model: the README.md of its run folder."""

import math
import shlex
from pathlib import Path

import torch

from sumpool import __version__
from sumpool.core.model.language_model import LanguageModel
from sumpool.data.text_report import TextReport
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.recipe.language_model import LanguageModelRecipe
from sumpool.runs.model_card import CARD
from sumpool.text.escaping import escape_line, escape_markdown_line, markdown_table
from sumpool.training.checkpoint import TrainingState
from sumpool.training.initial_weights import describe_init


def write_text_model_card(run: Path, recipe: LanguageModelRecipe, model: LanguageModel, state: TrainingState) -> None:
    """Write the model card of a finished run.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    data = TextReport.load(run)
    beginning = "scratch"
    if recipe.train.init_from:
        beginning = escape_markdown_line(describe_init(recipe.train.init_from))
    boundaries = " and ".join(level.kind for level in recipe.model.boundaries) or "none"
    folder = escape_line(shlex.quote(str(run)))
    assert state.best_loss is not None, "a finished run was validated"
    bits = state.best_loss / math.log(2)
    card = f"""\
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
    with disk_errors(run):
        replace_file(run / CARD, card.encode())
