"""`sumpool train`: train the model of a recipe, or all models of a sweep."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sumpool.cli.console import Screen, print_message, table, working, wrap
from sumpool.cli.options import VERIFY, Changes, RecipePath, Verify
from sumpool.errors import RecipeError

if TYPE_CHECKING:
    from sumpool.runs.training_setup import DryRun
    from sumpool.workflows.sweep import LoadedSweep


def train(
    recipe: RecipePath,
    changes: Changes = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Run folder; default: runs/NAME of the recipe.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check recipe and data, run the longest batch and estimate time and memory."),
    ] = False,
    auto_batch: Annotated[
        bool, typer.Option("--auto-batch", help="Divide batches that memory cannot hold, with the same results.")
    ] = False,
    log: Annotated[
        list[str] | None, typer.Option("--log", metavar="tensorboard", help="Write the metrics for TensorBoard too.")
    ] = None,
    verify: Verify = False,
) -> None:
    """Train a model, or resume an interrupted run.

    Ctrl-C finishes the step and saves a checkpoint; the same command resumes as if never interrupted. A file with the
    key sweep describes several runs, which are trained, evaluated and compared in one table. sumpool help recipe
    describes the settings of recipes. Several processes are started by torchrun -m sumpool train ...
    """
    from sumpool.progress import GRACE, SHORT_GRACE, no_op
    from sumpool.recipe.load import is_sweep, make_recipe, read_tree
    from sumpool.recipe.task import find_task
    from sumpool.workflows.train import dry_run as measure
    from sumpool.workflows.train import train as train_model

    options = [f"train.log=[{', '.join(log)}]"] if log else []
    options += ["train.auto_batch=true"] if auto_batch else []
    changes = [*(changes or ()), *options, *([VERIFY] if verify else [])]
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # for warnings about parameters without gradients
    from sumpool.training.processes import launched_processes

    is_main = launched_processes() == 1 or os.environ.get("RANK") == "0"
    with working(SHORT_GRACE if dry_run else GRACE) as output:
        path = recipe / "recipe.yaml" if recipe.is_dir() else recipe
        tree = read_tree(path)
        if launched_processes() > 1 and (dry_run or is_sweep(tree)):
            work = "a dry run" if dry_run else "a sweep"
            raise RecipeError(f"{work} must take one process, got several: start it without torchrun")
        if is_sweep(tree):
            from sumpool.workflows.sweep import load_sweep

            output.result(_train_sweep(load_sweep(path, changes, tree), out, dry_run, output))
            return
        loaded = make_recipe(tree, changes, path)
        task = find_task(loaded.task)
        if dry_run:
            measured = measure(loaded, report=output.report, check=output.check)
            result = _forecast(measured, loaded.train.steps, has_decoder=loaded.has_decoder)
        else:
            report = output.report if is_main else no_op
            result = str(train_model(loaded, out, report=report, check=output.check))
    if not is_main:
        return
    if not dry_run:
        print_message(f"next: sumpool {task.use.format(result)}; sumpool evaluate {result}")
    output.result(result)


def _train_sweep(loaded: "LoadedSweep", out: Path | None, dry_run: bool, output: Screen) -> str:
    """Train or estimate every run of a sweep and return the table of results."""
    from sumpool.workflows.sweep import forecast, sweep

    if not dry_run:
        results = sweep(loaded, out, report=output.report, check=output.check)
        columns, rows = results.table()
        return "\n".join([table(columns, rows, f"sweep {loaded.settings.sweep}"), *map(wrap, results.notes)])
    rows, failures, total = [], [], 0.0
    for run, cost, failure in forecast(loaded, report=output.report, check=output.check):
        cells = [run.recipe.name, f"{run.parameters:,}", f"{run.recipe.train.steps:,}"]
        if cost is None:
            rows.append([*cells, "-", "-", "-"])
            failures.append(wrap(f"{run.recipe.name} failed: {failure}"))
            continue
        minutes = cost.seconds * run.recipe.train.steps / 60
        total += minutes
        peak = "-" if cost.peak_memory is None else f"{cost.peak_memory / 2**20:,.0f}"
        rows.append([*cells, f"{cost.seconds:.2f}", peak, f"{minutes:,.1f}"])
    columns = ["run", "parameters", "steps", "s per step, at most", "peak MiB", "minutes, at most"]
    sum_of_runs = f"all runs: {total:,.0f} min at most, validation and evaluation not counted"
    return "\n".join([table(columns, rows), *failures, sum_of_runs])


def _forecast(measured: "DryRun", steps: int, *, has_decoder: bool) -> str:
    memory = "unknown" if measured.peak_memory is None else f"{measured.peak_memory / 2**20:,.0f} MiB"
    minutes = measured.seconds * steps / 60
    rows = [
        ["parameters", f"{measured.parameters:,}"],
        ["device", measured.device],
        ["longest batch", f"{measured.documents:,} x {measured.source_tokens:,} tokens"],
        *([["longest summary in it", f"{measured.target_tokens:,} tokens"]] if has_decoder else []),
        ["peak memory of a step", memory],
        ["time of such a step", f"{measured.seconds:.2f} s"],
        ["all steps, at most", f"{minutes:,.1f} min for {steps:,}"],
        ["not counted", "validation, and the sentence ranker, .1 s a document" if has_decoder else "validation"],
    ]
    return table(["dry run", ""], rows)
