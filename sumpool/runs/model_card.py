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

A model that summarises long documents, trained from {beginning} with sumpool {version} (torch {torch}).

    sumpool summarize document.txt --model {run}
    sumpool evaluate {run}

| | |
|---|---|
| parameters | {parameters:,} |
| reads | up to {source_length:,} tokens of a document |
| writes | up to {target_length:,} tokens |
| vocabulary | {vocabulary:,} pieces |
| trained on | {documents:,} documents, {steps:,} updates, {epochs} whole epochs |
| validation | {loss:.4f} nats per token after step {best_step:,}: the weights in this folder |
| seed | {seed} |

## Data

{data}

## Limits

It writes in the manner of the summaries that it learnt from, and of documents like those; about others it has learnt
nothing. A summary may say what the document does not: compare it with the source before anybody relies on it. What
the licence of the documents asks for holds for text that the model copies from them.

## Files

`recipe.yaml` is the whole recipe, `metrics.jsonl` every update and validation, `report.json` the data report,
`manifest.json` the size and SHA-256 of every file that summaries depend on. No file holds code.
"""

_IMPORTED = """\
# {name}

A model that summarises documents, imported from {origin} with sumpool {version}.

    sumpool summarize document.txt --model {run}
    sumpool evaluate {run} --set data.prepared=FOLDER

| | |
|---|---|
| parameters | {parameters:,} |
| reads | up to {source_length:,} tokens of a document |
| writes | up to {target_length:,} tokens |
| vocabulary | {vocabulary:,} pieces |

## What it is

{differences}

What it learnt from, what it is good for and under which licence it may be used, the page of the original says.

To train it on documents of your own, give a recipe the model of `recipe.yaml`, `data.tokenizer: {run}` and
`train.init_from: {run}`.

## Limits

A summary may say what the document does not: compare it with the source before anybody relies on it.

## Files

`recipe.yaml` is the whole recipe, `manifest.json` the size and SHA-256 of every file that summaries depend on. No file
holds code.
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
        beginning=describe_init(recipe.train.init_from) if recipe.train.init_from else "nothing",
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
    """Render the model card of an imported model.

    Args:
        recipe: Its recipe.
        run: Its folder.
        origin: Its origin: a folder, or a repository of the hub with the revision.
        model: The model.
        differences: Sentences about differences from the original.
    """
    return _IMPORTED.format(
        name=recipe.name,
        origin=origin,
        version=sumpool.__version__,
        run=run,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        source_length=recipe.model.source_length,
        target_length=recipe.model.target_length,
        vocabulary=model.vocabulary,
        differences="\n".join(f"- {difference}" for difference in differences) or "It computes what the original does.",
    )


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
