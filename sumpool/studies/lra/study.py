"""`sumpool study lra`: attentions trained on a task of the Long Range Arena, in one table.

<folder>/<task>/data/                      rows and their statistics
<folder>/<task>/<attention>-seed<n>/       run folders, which a second call continues with
<folder>/<task>/results.json, .csv, .tex, .png
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sumpool.bench.config import split_overrides
from sumpool.bench.results import BenchReport, Result, Table, export_result, make_report, text_table
from sumpool.bench.workload import Conditions
from sumpool.progress import Check, Progress, Report
from sumpool.recipe.load import load_recipe, make_recipe, read_tree
from sumpool.recipe.packaged import recipes_folder
from sumpool.recipe.schema import Recipe
from sumpool.runs.run_folder import RECIPE
from sumpool.runs.training_setup import set_up_training
from sumpool.settings import kinds
from sumpool.studies.config import LraConfig
from sumpool.studies.lra.table import (
    LraRun,
    attention_settings,
    draw_lra,
    make_lra_table,
    make_row,
    published,
    read_run,
)
from sumpool.studies.lra.tasks import make_data
from sumpool.studies.study import load_study
from sumpool.studies.training_time import affordable_steps, seconds_per_update, with_steps
from sumpool.tasks.classification.classify import evaluate_classifier
from sumpool.training.hardware import choose_device, choose_precision
from sumpool.workflows.train import dry_run, train

_VALIDATIONS = 10
"""Validations of a run at least."""


def study_lra(overrides: Sequence[str], report: Report, check: Check) -> BenchReport:
    """Train and evaluate a classifier for each attention and seed, and compare them.

    Args:
        overrides: Settings of the benchmark, like `study.task=listops`, and of the task's recipe.
        report: Called with progress.
        check: Called between updates; when it raises, a second call continues.

    Raises:
        RecipeError: If a setting is wrong, or a folder holds something else.
        DataError: If the user's copy is missing or damaged.
        NonFiniteError: If a loss or a gradient is not finite.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal has come.
    """
    # 1. Generate or read the rows of the task.
    of_study, of_recipe = split_overrides(overrides, ("study.",))
    config = load_study("lra", LraConfig, of_study).study
    if config.attentions == ("all",):
        config = config.model_copy(update={"attentions": tuple(kinds("sumpool.core.attention"))})
    folder = config.folder / config.task
    recipes = {kind: _recipe(config, kind, config.seeds[0], of_recipe) for kind in config.attentions}
    data = make_data(config, config.seeds[0], folder / "data", report, check)
    # 2. Train and evaluate each attention with each seed.
    rows, first = [], recipes[config.attentions[0]]
    for kind, recipe in recipes.items():
        report(Progress("lra", note=f"{config.task}: {kind}"))
        runs = [_run(config, kind, seed, of_recipe, report, check) for seed in config.seeds]
        cost = dry_run(recipe, report=report, check=check)
        costs = {"peak_memory": cost.peak_memory, "parameters": cost.parameters}
        rows.append(make_row(kind, runs, published(config.task, kind), costs, config.memory * 2**30))
    # 3. Write the table.
    table = make_lra_table(config.task, rows, config.memory, _notes(first))
    result = Result({"attentions": rows}, [_statistics(data.statistics), table], {"statistics": data.statistics})
    device = choose_device(first.train.device)
    conditions = Conditions(300, device, choose_precision(first.train.precision, device), config.seeds[0])
    about = {"settings": config.model_dump(mode="json"), "statistics": data.statistics}
    export_result(folder / "results", about, {"rows": rows}, [table])
    if find_spec("matplotlib"):
        draw_lra(config.task, rows, folder / "results.png")
    settings = {"study": config.model_dump(mode="json"), "recipe": first.model_dump(mode="json")}
    return make_report(config.task, "lra", conditions, settings, result)


def _recipe(config: LraConfig, kind: str, seed: int, overrides: Sequence[str]) -> Recipe:
    """Return the recipe of an attention: that of the task with the attention in every layer."""
    path = recipes_folder() / "lra" / f"{config.task}.yaml"
    tree = read_tree(path)
    source = tree["data"]["source"]
    for split in ("train", "validation", "test"):
        source[split] = str(config.folder / config.task / "data" / f"{split}.jsonl")
    tree["data"]["prepared"] = str(config.folder / config.task / "prepared")
    tree["seed"] = seed
    if config.lengths is not None:
        tree["model"]["source_length"] = config.lengths[1]
    length = make_recipe(tree, overrides, path).model.source_length
    for layer in tree["model"]["encoder"]:
        layer["attention"] = attention_settings(kind, length)
    return make_recipe(tree, overrides, path)


def _run(config: LraConfig, kind: str, seed: int, overrides: Sequence[str], report: Report, check: Check) -> LraRun:
    """Train a run, or go on with it, and evaluate it on the test rows."""
    run = config.folder / config.task / f"{kind}-seed{seed}"
    recipe = _recipe(config, kind, seed, overrides)
    if config.minutes is not None:
        steps = _steps(recipe, run, config.minutes, report, check)
        recipe = recipe.model_copy(update={"train": with_steps(recipe.train, steps, _VALIDATIONS)})
    train(recipe, run, report=report, check=check)
    scores = evaluate_classifier(run, report=report, check=check)
    return read_run(run, seed, scores.accuracy)


def _steps(recipe: Recipe, run: Path, minutes: float, report: Report, check: Check) -> int:
    """Return the updates that take a time; those of a run that has begun."""
    if (run / RECIPE).is_file():
        return load_recipe(run).train.steps
    setup = set_up_training(recipe, report, check)
    seconds = seconds_per_update(setup.model, setup.data, recipe.train, choose_device(recipe.train.device))
    report(Progress("lra", note=f"{run.name}: {seconds:.2f} s per update"))
    return affordable_steps(minutes, seconds)


def _notes(recipe: Recipe) -> list[str]:
    train_config = recipe.train
    return [
        f"batches of {train_config.batch_tokens * train_config.accumulate:,} tokens, learning rate "
        f"{train_config.learning_rate:g}, {len(recipe.model.encoder)} layers of {recipe.model.dim} features"
    ]


def _statistics(statistics: Mapping[str, Any]) -> Table:
    """Lay out the statistics of the training rows, generated beside published, and the rows of the other splits."""
    train_rows = statistics["train"]
    references = train_rows.get("published", {})
    described = [
        (name, _text(value), _text(references.get(name, "")))
        for name, value in train_rows.items()
        if name not in ("published", "rows")
    ]
    counts = {split: part["rows"] for split, part in statistics.items()}
    return text_table("training rows", ("", "generated", "published"), [("rows", _text(counts), ""), *described])


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(part)}" for name, part in value.items())
    return f"{value:.3g}" if isinstance(value, float) and value < 1000 else str(value)
