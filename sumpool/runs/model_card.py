"""Model card: the README.md of a run folder."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

import sumpool
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.report import DataReport
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.recipe.schema import Recipe
from sumpool.runs.init_from import describe_init
from sumpool.training.state import TrainingState

CARD = "README.md"

_TEXT = """\
# {name}

Summarisation model for long documents, trained from {beginning} with sumpool {version} (torch {torch}).

    sumpool summarize document.txt --model {run}
    sumpool evaluate {run}

| | |
|---|---|
| parameters | {parameters:,} |
| maximum input | {source_length:,} tokens |
| maximum output | {target_length:,} tokens |
| vocabulary | {vocabulary:,} tokens |
| trained on | {documents:,} documents, {steps:,} updates, {epochs} complete epochs |
| validation loss | {loss:.4f} nats per token after step {best_step:,}, of which these are the weights |
| seed | {seed} |

## Data

{data}

## Limitations

The model imitates the summaries that it was trained on and is untested on other kinds of documents. A summary may
contain statements that the document does not support: check it against the source. Text that the model copies from
a document remains under the licence of the document.

## Files

`recipe.yaml` is the complete recipe, `metrics.jsonl` the metrics of every update and validation, `report.json` the data
report, `manifest.json` the size and SHA-256 of every file that summaries depend on. No file contains code.
"""

_IMPORTED = """\
# {name}

Summarisation model, imported from {origin} with sumpool {version}.

    sumpool summarize document.txt --model {run}
    sumpool evaluate {run} --set data.prepared=FOLDER

| | |
|---|---|
| parameters | {parameters:,} |
| maximum input | {source_length:,} tokens |
| maximum output | {target_length:,} tokens |
| vocabulary | {vocabulary:,} tokens |

## Differences from the original

{differences}

The page of the original describes its training data, intended use and licence.

To fine-tune the model on your own documents, write a recipe with the model of `recipe.yaml`, `data.tokenizer: {run}`
and `train.init_from: {run}`.

## Limitations

A summary may contain statements that the document does not support: check it against the source.

## Files

`recipe.yaml` is the complete recipe, `manifest.json` the size and SHA-256 of every file that summaries depend on. No
file contains code.
"""


def write_model_card(run: Path, recipe: Recipe, model: nn.Module, state: TrainingState) -> None:
    """Write the model card of a finished run.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    data = DataReport.load(run)
    heading, *rows = data.rows()
    card = _TEXT.format(
        name=recipe.name,
        beginning=describe_init(recipe.train.init_from) if recipe.train.init_from else "scratch",
        version=sumpool.__version__,
        torch=torch.__version__,
        run=run,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        source_length=recipe.model.source_length,
        target_length=recipe.model.target_length,
        vocabulary=data.vocabulary,
        documents=data.splits["train"].documents,
        steps=state.step,
        epochs=state.position.epoch,
        loss=state.best_loss,
        best_step=state.best_step,
        seed=recipe.seed,
        data="\n".join([_row(heading), _row(["---"] * len(heading)), *map(_row, rows)]),
    )
    with disk_errors(run):
        replace_file(run / CARD, card.encode())


def imported_card(recipe: Recipe, run: Path, origin: str, model: SummarizationModel, differences: Sequence[str]) -> str:
    """Render the model card of an imported model."""
    return _IMPORTED.format(
        name=recipe.name,
        origin=origin,
        version=sumpool.__version__,
        run=run,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        source_length=recipe.model.source_length,
        target_length=recipe.model.target_length,
        vocabulary=model.vocabulary,
        differences="\n".join(f"- {difference}" for difference in differences) or "None.",
    )


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
