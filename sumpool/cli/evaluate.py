"""`sumpool evaluate`: a run or a file of summaries in, a table out."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sumpool.cli.console import screen
from sumpool.cli.options import Changes, Resume
from sumpool.cli.text import table
from sumpool.errors import RecipeError


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
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN|DIR",
            help="Also compare, document by document, with what was evaluated there.",
            show_default=False,
        ),
    ] = None,
    resume: Resume = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON instead of a table.")] = False,
    changes: Changes = None,
) -> None:
    """Score summaries beside LEAD, LexRank and the oracle.

    ROUGE-1, -2, -L and -Lsum with 95 % intervals. Beams and the like change with --set summarize.beams=1.
    """
    from sumpool.evaluation.paired_comparison import difference_table
    from sumpool.interruption import interruptible
    from sumpool.workflows.evaluate import Results, evaluate_predictions, evaluate_run

    if judged and judged.is_file() and not references:
        raise RecipeError(f"{judged} must be a run folder, or come with --references REFS.jsonl, got a file alone")
    if references and (changes or not judged):
        raise RecipeError("--references must come with a file of summaries, and without --set")
    results = Results(folder=out, resume=resume, against=against)
    with screen() as shown, interruptible() as interruption:
        report_to, check = shown.report, interruption.check
        if judged and references:
            found = evaluate_predictions(
                judged, references, skip_missing=skip_missing, results=results, report=report_to, check=check
            )
        else:
            found = evaluate_run(
                judged,
                split,
                overrides=changes or (),
                limit=limit,
                results=results,
                report=report_to,
                check=check,
            )
    if json:
        shown.result(found.to_json().rstrip())
        return
    columns, rows = found.table()
    tables = [table(columns, rows)]
    if found.differences:
        tables.append(table(*difference_table(found.differences), title=f"\nmore than {against}"))
    shown.result("\n".join([*tables, *found.notes, found.signature]))
