"""`sumpool runs`: list runs with their scores."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sumpool.cli.text import table, wrap
from sumpool.text.escaping import escape, escape_line

if TYPE_CHECKING:
    from sumpool.runs.run_summary import RunSummary


def runs(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Folder of runs.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print a JSON array instead of a table.")] = False,
) -> None:
    """List runs, the newest first: state, validation loss, ROUGE, size, steps and date.

    ROUGE is that of `sumpool evaluate` (test before validation), else that of the validations of the training.
    """
    from sumpool.workflows.runs import list_runs

    listed = list_runs(folder)
    if json:
        from dataclasses import asdict
        from json import dumps

        typer.echo(escape(dumps([asdict(run) for run in listed], ensure_ascii=False, indent=2)))
        return
    if not listed:
        typer.echo(escape_line(f"no runs in {folder}"))
        return
    columns = ["run", "state", "loss", "ROUGE-1", "ROUGE-2", "ROUGE-Lsum", "of", "parameters", "MB", "steps", "date"]
    typer.echo(table(columns, [cells(run) for run in listed]))
    for run in listed:
        if run.problem:
            typer.echo(wrap(escape_line(f"{run.run} is damaged: {run.problem}")))


def cells(run: "RunSummary") -> list[str]:
    """Render the row of a run."""
    from sumpool.runs.run_summary import MEASURES

    steps = f"{run.step:,}" if run.step == run.steps else f"{run.step:,}/{run.steps:,}"
    return [
        run.run,
        run.state,
        "-" if run.loss is None else f"{run.loss:.3f}",
        *(f"{run.rouge[name]:.1f}" if name in run.rouge else "-" for name in MEASURES),
        run.scored or "-",
        "-" if run.parameters is None else f"{run.parameters:,}",
        "-" if run.bytes is None else f"{run.bytes / 1e6:,.1f}",
        steps if run.steps else "-",
        run.date[:16].replace("T", " "),
    ]
