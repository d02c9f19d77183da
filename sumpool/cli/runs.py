"""`sumpool runs`: list runs with their scores."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sumpool.cli.console import as_json, table, wrap
from sumpool.text.cleaning import escape_line

if TYPE_CHECKING:
    from sumpool.runs.run_summary import RunSummary

COLUMNS = (
    *("run", "state", "loss", "ROUGE-1", "ROUGE-2", "ROUGE-Lsum", "accuracy %", "BPC"),
    *("of", "parameters", "MB", "steps", "date"),
)
_OF_TASKS = ("accuracy %", "BPC")
"""Columns that are shown if any run has a value."""


def runs(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Folder of runs.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print a JSON array instead of a table.")] = False,
) -> None:
    """List runs, the newest first: state, validation loss, scores, size, steps and date.

    ROUGE, accuracy of classifiers and bits per character (BPC) of language models are those of `sumpool evaluate` (test
    before validation), else ROUGE of the validations of the training.
    """
    from sumpool.runs.run_summary import list_runs

    listed = list_runs(folder)
    if json:
        typer.echo(as_json(listed))
        return
    if not listed:
        typer.echo(escape_line(f"no runs in {folder}"))
        return
    lines = [dict(zip(COLUMNS, cells(run), strict=True)) for run in listed]
    shown = [name for name in COLUMNS if name not in _OF_TASKS or any(line[name] != "-" for line in lines)]
    typer.echo(table(shown, [[line[name] for name in shown] for line in lines]))
    for run in listed:
        if run.problem:
            typer.echo(wrap(escape_line(f"{run.run} is damaged: {run.problem}")))


def cells(run: "RunSummary") -> list[str]:
    """Render the row of a run, a cell for each of `COLUMNS`."""
    from sumpool.runs.run_summary import MEASURES

    steps = f"{run.step:,}" if run.step == run.steps else f"{run.step:,}/{run.steps:,}"
    return [
        run.run,
        run.state,
        "-" if run.loss is None else f"{run.loss:.3f}",
        *(f"{run.rouge[name]:.1f}" if name in run.rouge else "-" for name in MEASURES),
        "-" if run.accuracy is None else f"{run.accuracy:.1f}",
        "-" if run.bpc is None else f"{run.bpc:.3f}",
        run.scored or "-",
        "-" if run.parameters is None else f"{run.parameters:,}",
        "-" if run.bytes is None else f"{run.bytes / 1e6:,.1f}",
        steps if run.steps else "-",
        run.date[:16].replace("T", " "),
    ]
