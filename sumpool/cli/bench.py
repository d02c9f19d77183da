"""`sumpool bench`: a recipe or a run in, tables of what its model costs out."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sumpool.cli.console import screen
from sumpool.cli.options import Changes
from sumpool.cli.text import table


def bench(
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN|RECIPE", help="A recipe or a run folder; by default the newest run.", show_default=False
        ),
    ] = None,
    suite: Annotated[
        Literal["model", "operators"], typer.Option(help="The model beside its twins, or pooling of random vectors.")
    ] = "model",
    lengths: Annotated[
        list[int] | None,
        typer.Option("--length", metavar="TOKENS", help="Source tokens; may be given often.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write everything as JSON.", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    changes: Changes = None,
) -> None:
    """Measure time, memory and operations of a model by length.

    Beside it stands the same model without pooling, with blockwise and with vanilla attention. Weights and documents
    are random. Batch, beams and repetitions change with --set bench.batch=8.
    """
    from sumpool.bench.table import tables
    from sumpool.interruption import interruptible
    from sumpool.workflows import bench as workflow

    with screen() as shown, interruptible() as interruption:
        report = workflow.bench(
            target,
            suite,
            overrides=changes or (),
            lengths=lengths or (),
            report=shown.report,
            check=interruption.check,
        )
    if out:
        out.write_text(report.to_json() + "\n", encoding="utf-8")
    if json:
        shown.result(report.to_json())
        return
    for part in tables(report):
        shown.result("\n".join([table(part.columns, part.rows, part.title), *part.notes, ""]))
