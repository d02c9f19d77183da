"""`sumpool study lra`: attentions trained on a task of the Long Range Arena, in a table with the columns of the papers.

<folder>/<task>/data/                          rows
<folder>/<task>/<attention>-seed<n>/           run folders, which a second call continues with
<folder>/<task>/results.json, .csv, .tex

Settings of attentions are those of the code released with Skyformer and, of the ablations, Skeinformer: 128 features,
landmarks or columns (Skeinformer 256), drawn anew at each training step. Nystrom has no convolution, Linformer one
projection in each head for keys and values, and Informer ceil(128 / ln(n)) * ceil(ln(n)) queries of n tokens, the most
that a document has. What still differs: the released projections of Linformer are drawn with deviation .02, and on a
GPU they are moved there as no parameters of the module and so never trained; keys of Informer are sampled for each
query there, for all queries here, which takes less memory; vectors that are drawn stay the same at
evaluation here; padding, batch mates and the lengths of others never change a result.

Published accuracies are of two papers that differ in batch sizes and numbers of updates, so that their columns cannot
be compared with each other: Skeinformer (Chen et al., 2022) and Skyformer (Chen et al., 2021), table "Classification
accuracy on LRA" of each.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from sumpool.bench.config import split_overrides
from sumpool.bench.results import BenchReport, Result, Row
from sumpool.errors import RecipeError
from sumpool.evaluation.scores import SCORES
from sumpool.evaluation.statistics import Estimate, Floats, compare_all, not_separated
from sumpool.progress import Check, Progress, Report
from sumpool.recipe.files import recipes_folder
from sumpool.recipe.load import make_recipe, read_tree
from sumpool.recipe.schema import Recipe
from sumpool.runs.run_folder import evaluation_folder
from sumpool.settings import kinds
from sumpool.studies.config import LraConfig
from sumpool.studies.lra.pathfinder import describe
from sumpool.studies.lra.tasks import describe_expressions, make_data
from sumpool.studies.study import load_study, make_table, over_seeds, report_runs
from sumpool.tasks.classification.classify import evaluate_classifier
from sumpool.training.journal import JOURNAL, Journal
from sumpool.workflows.sweep import read_correct
from sumpool.workflows.train import dry_run, train

ROWS: Mapping[str, Mapping[str, Any]] = {
    "bigbird": {"block": 64, "random_blocks": 3},
    "linformer": {"rank": 128, "sharing": "keys_values_per_head"},
    "linformer-unreduced": {"rank": 128, "sharing": "none", "unreduced": True},
    "lsh": {"hashes": 2, "local_heads": 0},
    "nystrom": {"landmarks": 128, "kernel": 0},
    "performer": {"features": 128},
    "informer": {"mean_over": "length", "redraw": True},
    "skyformer": {"landmarks": 128, "redraw": True},
    "skeinformer": {"redraw": True},
    "skeinformer-uniform": {"redraw": True, "sampling": "uniform"},
    "skeinformer-unnormalized": {"redraw": True, "row_normalization": "unweighted"},
    "skeinformer-simple": {"redraw": True, "row_normalization": "simple"},
    "skeinformer-without_pilot": {"redraw": True, "reuse_pilot": False},
}
"""Settings of a row that differ from the defaults of its attention, which its name begins with."""
_FEATURES = 128
"""Features from which the released Informer computes its factor."""
_TASKS = ("text", "listops", "retrieval", "pathfinder32", "image")
PUBLISHED: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "skeinformer": {
        "vanilla": (59.44, 38.17, 79.35, 72.35, 37.58),
        "v_mean": (65.29, 28.78, 80.49, 61.01, 34.33),
        "bigbird": (61.91, 38.86, 79.73, 71.75, 35.00),
        "performer": (57.67, 37.70, 75.69, 56.50, 37.40),
        "nystrom": (60.91, 37.76, 79.87, 72.53, 31.93),
        "lsh": (62.69, 37.94, 78.85, 69.21, 36.42),
        "linformer": (58.52, 37.97, 77.40, 55.57, 37.48),
        "linformer-unreduced": (59.12, 37.48, 79.39, 68.45, 35.96),
        "informer": (60.98, 37.26, 79.92, 62.51, 37.19),
        "skeinformer": (62.47, 38.73, 80.42, 71.51, 37.27),
        "skeinformer-uniform": (64.48, 30.02, 80.57, 64.35, 36.97),
        "skeinformer-unnormalized": (60.67, 37.69, 78.67, 66.35, 37.06),
        "skeinformer-simple": (60.26, 38.35, 78.97, 65.41, 39.72),
        "skeinformer-without_pilot": (62.39, 38.12, 79.88, 71.53, 37.20),
    },
    "skyformer": {
        "vanilla": (61.95, 38.37, 80.69, 65.26, 40.57),
        "kernelized": (60.22, 38.78, 81.77, 70.73, 41.29),
        "nystrom": (64.83, 38.51, 80.52, 69.48, 41.30),
        "linformer": (58.93, 37.45, 78.19, 60.93, 37.96),
        "informer": (62.64, 32.53, 77.57, 57.83, 38.10),
        "performer": (64.19, 38.02, 80.04, 66.30, 41.43),
        "lsh": (62.93, 37.68, 78.99, 66.49, 48.87),
        "bigbird": (63.86, 39.25, 80.28, 68.72, 43.16),
        "skyformer": (64.70, 38.69, 82.06, 70.73, 40.77),
    },
}
"""Accuracies by paper and row, in the order of `_TASKS`. Of the two rows of Skeinformer's table for full attention and
for Informer, those that ours are: without dropout of attention weights, and with padding masked."""
_FIXED_LENGTH = ("linformer", "synthesizer")
"""Attentions with parameters for each position."""


def study_lra(overrides: Sequence[str], report: Report, check: Check) -> BenchReport:
    """Train and evaluate a classifier for each attention and seed, and compare them.

    Args:
        overrides: Settings of the study, like `study.task=listops`, and of the task's recipe.
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
        config = config.model_copy(update={"attentions": row_names()})
    folder = config.folder / config.task
    recipes = {name: [_recipe(config, name, seed, of_recipe) for seed in config.seeds] for name in config.attentions}
    counts, drawn = make_data(config, config.seeds[0], folder / "data", report, check)
    # 2. Train and evaluate each attention with each seed.
    rows, correct = [], dict[str, Floats]()
    for name, seeds in recipes.items():
        report(Progress("lra", note=f"{config.task}: {name}"))
        folders = [folder / f"{name}-seed{seed}" for seed in config.seeds]
        runs = []
        for recipe, run in zip(seeds, folders, strict=True):
            train(recipe, run, report=report, check=check)
            scores = evaluate_classifier([run], report=report, check=check)
            runs.append(read_run(run, recipe.seed, scores.accuracy))
        labels = [read_correct(evaluation_folder(run, "test") / SCORES) for run in folders]
        correct[name] = np.array([value for run in labels for _, value in sorted(run.items())])
        cost = dry_run(recipes[name][0], report=report, check=check)
        costs = {"memory": cost.peak_memory, "parameters": cost.parameters}
        rows.append(make_row(name, runs, published(config.task, name) | costs))
    # 3. Write the table.
    first = recipes[config.attentions[0]][0]
    differences = compare_all(correct)
    rows = [row.also({"same": ", ".join(not_separated(row["attention"], differences))}) for row in rows]
    best_first = sorted(rows, key=lambda row: -row["accuracy"])
    note = (
        f"batches of {first.train.batch_tokens * first.train.accumulate:,} tokens, learning rate "
        f"{first.train.learning_rate:g}, {len(first.model.encoder)} layers of {first.model.dim} features"
    )
    notes = [note, "; ".join(f"{split}: {count:,} rows" for split, count in counts.items())]
    notes += [describe(config.task, drawn)] if drawn else []
    notes += [describe_expressions(folder / "data" / "train.jsonl")] if config.task == "listops" else []
    table = make_table("lra", best_first, {"task": config.task}, notes=notes)
    result = Result({"attentions": rows}, [table], {"rows": counts})
    return report_runs("lra", config.task, config, first, result, folder / "results")


def row_names() -> tuple[str, ...]:
    """Names of all rows: every attention, and the ablations of some."""
    return tuple(sorted({*kinds("sumpool.core.attention"), *ROWS}))


def published(task: str, name: str) -> dict[str, float | None]:
    """Return the published accuracies of a row on a task, from 0 to 100; None where there is none."""
    return {
        f"published_{paper}": table[name][_TASKS.index(task)] if task in _TASKS and name in table else None
        for paper, table in PUBLISHED.items()
    }


def attention_settings(name: str, length: int) -> dict[str, Any]:
    """Return the settings of the attention of a row for documents of a length, as in a recipe.

    Raises:
        RecipeError: If there is no such row.
    """
    if name not in row_names():
        raise RecipeError(f"study.attentions must be names of rows ({', '.join(row_names())}), got {name}")
    kind = name.partition("-")[0]
    settings = {"kind": kind, **ROWS.get(name, {}), **({"length": length} if kind in _FIXED_LENGTH else {})}
    if kind == "informer":
        queries = math.ceil(_FEATURES / math.log(length)) * math.ceil(math.log(length))
        settings["factor"] = (min(queries, length) - 0.5) / math.log(length)  # rounded up to as many queries
    return settings


def _recipe(config: LraConfig, name: str, seed: int, overrides: Sequence[str]) -> Recipe:
    """Return the recipe of a row: that of the task with its attention in every layer."""
    path = recipes_folder() / "lra" / f"{config.task}.yaml"
    tree = read_tree(path)
    source = tree["data"]["source"]
    for split in ("train", "validation", "test"):
        source[split] = str(config.folder / config.task / "data" / f"{split}.jsonl")
    tree["data"]["prepared"] = str(config.folder / config.task / "prepared")
    tree["seed"] = seed
    length = make_recipe(tree, overrides, path).model.source_length
    for layer in tree["model"]["encoder"]:
        layer["attention"] = attention_settings(name, length)
    recipe = make_recipe(tree, overrides, path)
    assert isinstance(recipe, Recipe), "the task reads documents"
    return recipe


def read_run(run: Path, seed: int, accuracy: Estimate) -> Row:
    """Read what the metrics log of a finished run tells: updates, those until the best validation, and their seconds.

    Args:
        run: The run folder.
        seed: Its seed.
        accuracy: Its accuracy on the test rows, from 0 to 1.

    Raises:
        CheckpointError: If the log is damaged.
    """
    records = Journal(run / JOURNAL).read()
    updates = [record for record in records if record["kind"] == "step"]
    best = [record["step"] for record in records if record["kind"] == "validation" and record["best"]]
    seconds = median([record["seconds"] for record in updates]) if updates else 0.0
    values = {"seed": seed, "accuracy": accuracy, "steps": len(updates), "converged": best[-1] if best else 0}
    return Row({**values, "seconds": seconds})


def make_row(name: str, runs: Sequence[Row], known: Mapping[str, Any]) -> Row:
    """Return the row of the table for the runs of an attention, one per seed.

    Args:
        name: Its name.
        runs: Rows of `read_run`.
        known: Published accuracies, `memory` of the longest batch, bytes or None, and `parameters`.
    """
    accuracy = over_seeds([run["accuracy"] for run in runs])
    means = {label: fmean(run[label] for run in runs) for label in ("steps", "converged", "seconds")}
    values = {
        "attention": name,
        "accuracy": 100 * accuracy.mean,
        "low": 100 * accuracy.low,
        "high": 100 * accuracy.high,
        "steps": round(means["steps"]),
        "converged": means["converged"] / 1000,
        "minutes": means["seconds"] * 1000 / 60,
        "runs": [{**run.values, "accuracy": vars(run["accuracy"])} for run in runs],
    }
    return Row({**values, **known})
