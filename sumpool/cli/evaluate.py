"""`sumpool evaluate`: a run or a file of summaries in, a table out."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sumpool.cli.console import screen
from sumpool.cli.options import Changes, Resume
from sumpool.cli.text import table


def evaluate(
    judged: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN|PREDICTIONS",
            help="A run folder, or a file of summaries with --references; by default the newest run.",
            show_default=False,
        ),
    ] = None,
    split: Annotated[
        Literal["train", "validation", "test"], typer.Option(help="Documents of the run's data to take.")
    ] = "test",
    references: Annotated[
        Path | None,
        typer.Option(metavar="REFS.jsonl", help="References of a file of summaries.", show_default=False),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Take this many documents, spread over the split.", show_default=False)
    ] = None,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Leave out references that have no summary.")
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the results.", show_default=False)] = None,
    resume: Resume = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON instead of a table.")] = False,
    changes: Changes = None,
) -> None:
    """Score summaries beside LEAD and the oracle.

    ROUGE-1, -2, -L and -Lsum with 95 % intervals. Beams and the like change with --set summarize.beams=1.
    """
    from sumpool.interruption import interruptible
    from sumpool.workflows.evaluate import Results, evaluate_predictions, evaluate_run

    with screen() as shown, interruptible() as interruption:
        if judged and references:
            report = evaluate_predictions(
                judged,
                references,
                skip_missing=skip_missing,
                results=Results(out, resume),
                report=shown.report,
                check=interruption.check,
            )
        else:
            report = evaluate_run(
                judged,
                split,
                overrides=changes or (),
                limit=limit,
                results=Results(out, resume),
                report=shown.report,
                check=interruption.check,
            )
    if json:
        shown.result(report.to_json().rstrip())
        return
    columns, rows = report.table()
    shown.result(table(columns, rows))
    shown.result("\n".join([*report.notes, report.signature]))
