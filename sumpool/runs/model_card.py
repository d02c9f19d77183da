"""Model card: the README.md of a run folder."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from sumpool import __version__
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.recipe.schema import BaseRecipe, Recipe
from sumpool.recipe.task import Task, find_task
from sumpool.text.cleaning import escape_line, escape_markdown_line, markdown_code, markdown_table
from sumpool.training.checkpoint import TrainingState

CARD = "README.md"
LIMITATIONS = """\
The model imitates the summaries that it was trained on and is untested on other kinds of documents. A summary may
contain statements that the document does not support: check it against the source. Text that the model copies from
a document remains under the licence of the document."""
_GLOBAL_FIRST = """\
    inputs["global_attention_mask"] = torch.zeros_like(inputs.input_ids).index_fill(1, torch.tensor(0), 1)
"""
"""LED attends globally to the first token on request only."""


def model_card(task: Task[Any], run: Path, recipe: BaseRecipe, model: nn.Module, state: TrainingState) -> str:
    """Render the model card of a finished run as Markdown."""
    beginning = "scratch"
    if recipe.train.init_from:
        from sumpool.training.initial_weights import describe_init  # which few runs need

        beginning = escape_markdown_line(describe_init(recipe.train.init_from))
    if recipe.train.teacher:
        beginning += f" by distillation from {escape_markdown_line(str(recipe.train.teacher))}"
    origin = f"{task.title}, trained from {beginning} with sumpool {__version__} (torch {torch.__version__})"
    best = f"{state.best_loss:.4f} nats per {task.unit} after step {state.best_step:,}"
    table = "\n".join(markdown_table(task.report.load(run).rows()))
    return f"""\
{_head(task, run, recipe, model, origin)}
| trained with | {state.step:,} updates, {state.position.epoch} complete epochs |
| validation loss | {best}, of which these are the weights |
| seed | {recipe.seed} |

## Data

{table}

## Limitations

{task.limitations}

## Files

`recipe.yaml` is the complete recipe, `metrics.jsonl` the metrics of every update and validation, `report.json` the data
report, `curves.svg` the losses and scores, `manifest.json` size and SHA-256 of every file that the model depends on.
No file contains code.
"""


def imported_card(recipe: Recipe, run: Path, origin: str, model: SummarizationModel, differences: Sequence[str]) -> str:
    """Render the model card of an imported model."""
    listed = "\n".join(f"- {escape_markdown_line(difference)}" for difference in differences) or "None."
    origin = f"Summarisation model, imported from {escape_markdown_line(origin)} with sumpool {__version__}"
    head = _head(find_task(recipe.task), run, recipe, model, origin, " --set data.prepared=FOLDER")
    return f"""\
{head}

## Differences from the original

{listed}

The page of the original describes its training data, intended use and licence.

To fine-tune the model on your own documents, write a recipe with the model of `recipe.yaml`,
{markdown_code(f"data.tokenizer: {run}")} and {markdown_code(f"train.init_from: {run}")}.

## Limitations

A summary may contain statements that the document does not support: check it against the source.

## Files

`recipe.yaml` is the complete recipe, `manifest.json` the size and SHA-256 of every file that summaries depend on. No
file contains code.
"""


def transformers_card(recipe: Recipe, run: Path, model: SummarizationModel, family: str) -> str:
    """Render the model card of a model that was exported for transformers.

    Args:
        recipe: Recipe of the model.
        run: Its run folder.
        model: The model.
        family: Family of Hugging Face that the model belongs to.
    """
    summarize = recipe.summarize
    missing = {
        f"mode: {summarize.mode}": summarize.mode != "abstractive",
        "fast": summarize.fast,
        f"no_repeat_words: {summarize.no_repeat_words}": summarize.no_repeat_words > 0,
        f"on_overflow: {summarize.on_overflow}": summarize.on_overflow != "truncate",
        "mbr": summarize.mbr,
        f"factuality: {summarize.factuality}": summarize.factuality != "any",
        "repair": summarize.repair,
        f"length: {summarize.length}": summarize.length != "auto",
        f"focus: {escape_markdown_line(summarize.focus)}": summarize.focus != "",
        f"key_points: {summarize.key_points}": summarize.key_points > 0,
        "sections": summarize.sections,
        "begin_with after its first token": len(summarize.begin_with) > 1,
    }
    listed = "\n".join(f"- {name}" for name, is_set in missing.items() if is_set) or "None."
    global_first = "" if family != "led" else _GLOBAL_FIRST
    return f"""\
---
library_name: transformers
pipeline_tag: summarization
---

# {recipe.name}

Summarisation model of the family {family} for documents of up to {recipe.model.source_length:,} tokens, exported from
{markdown_code(str(run))} with sumpool {__version__}. It needs no code beside transformers:

    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained("FOLDER")
    model = AutoModelForSeq2SeqLM.from_pretrained("FOLDER")
    inputs = tokenizer(document, truncation=True, return_tensors="pt")
{global_first}\
    print(tokenizer.decode(model.generate(**inputs)[0], skip_special_tokens=True))

{_sizes(find_task(recipe.task), recipe, model)}

## Settings of `summarize` that transformers does not have

{listed}

## Limitations

{LIMITATIONS}
"""


def _head(
    task: Task[Any], run: Path, recipe: BaseRecipe, model: nn.Module, origin: str, evaluate_options: str = ""
) -> str:
    """Render the beginning of a card, up to the sizes of the model."""
    folder = escape_line(shlex.quote(str(run)))
    return f"""\
# {recipe.name}

{origin}.

    sumpool {task.use.format(folder)}
    sumpool evaluate {folder}{evaluate_options}

{_sizes(task, recipe, model)}"""


def _sizes(task: Task[Any], recipe: BaseRecipe, model: nn.Module) -> str:
    """Render what a model has, reads and writes as a table."""
    parameters = sum(parameter.numel() for parameter in model.parameters())
    sizes = {"parameters": f"{parameters:,}", **task.sizes(recipe), "vocabulary": f"{model.vocabulary:,} tokens"}
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {size} |" for name, size in sizes.items())])
