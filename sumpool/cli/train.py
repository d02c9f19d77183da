"""`sumpool train`: a recipe in, a run folder out; or a sweep in, several runs and a table out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sumpool.cli.console import screen
from sumpool.cli.options import Changes, RecipePath
from sumpool.cli.sweep import train_sweep
from sumpool.cli.text import complain, table

if TYPE_CHECKING:
    from sumpool.workflows.train import DryRun


def train(
    recipe: RecipePath,
    changes: Changes = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Run folder; by default runs/NAME of the recipe.", show_default=False),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check recipe and data, try the longest batch, say what training would take."),
    ] = False,
) -> None:
    """Train a model, or go on where training stopped.

    Ctrl-C finishes the step and saves; the same command goes on as if nothing had happened. A file with `sweep` at its
    top holds several runs: all are trained and evaluated, and one table compares them.
    """
    from sumpool.interruption import interruptible
    from sumpool.recipe.sweep import LoadedSweep, load_recipe_or_sweep
    from sumpool.workflows import train as workflow

    with screen() as shown, interruptible() as interruption:
        loaded = load_recipe_or_sweep(recipe, changes or ())
        if isinstance(loaded, LoadedSweep):
            shown.result(train_sweep(loaded, out, dry_run, shown, interruption.check))
            return
        if dry_run:
            result = _forecast(
                workflow.dry_run(loaded, report=shown.report, check=interruption.check), loaded.train.steps
            )
        else:
            result = str(workflow.train(loaded, out, report=shown.report, check=interruption.check))
    if not dry_run:
        complain(f"next: sumpool summarize --model {result} doc.txt; sumpool evaluate {result}")
    shown.result(result)


def _forecast(found: "DryRun", steps: int) -> str:
    memory = "unknown" if found.peak_memory is None else f"{found.peak_memory / 2**20:,.0f} MiB"
    minutes = found.seconds * steps / 60
    rows = [
        ["parameters", f"{found.parameters:,}"],
        ["device", found.device],
        ["longest batch", f"{found.documents:,} x {found.source_tokens:,} tokens"],
        ["longest summary in it", f"{found.target_tokens:,} tokens"],
        ["peak memory of a step", memory],
        ["time of such a step", f"{found.seconds:.2f} s"],
        ["all steps, at most", f"{minutes:,.1f} min for {steps:,}"],
    ]
    return table(["dry run", ""], rows)
