"""`sumpool evaluate`: score the summaries of a run, or of a file, and print a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from sumpool.cli.classify import print_evaluation
from sumpool.cli.console import screen
from sumpool.cli.options import VERIFY, Changes, Resume, Verify, choice, whole_number
from sumpool.cli.text import table, wrap
from sumpool.errors import RecipeError

if TYPE_CHECKING:
    from sumpool.evaluation.report import EvaluationReport

Split = Literal["train", "validation", "test"]


def evaluate(
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN|PREDICTIONS",
            help="Run folder, or a file of summaries with --references; default: the newest run.",
        ),
    ] = None,
    split: Annotated[Split, choice("--split", get_args(Split), "Split of the run's data to evaluate.")] = "test",
    references: Annotated[
        Path | None, typer.Option(metavar="REFS.jsonl", help="References for a file of summaries.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole_number("--limit"),
            help="Number of documents to evaluate, spread evenly over the split.",
        ),
    ] = None,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Ignore references without a summary instead of failing.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Output folder; default: inside the run folder.")
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(metavar="RUN|DIR", help="Compare with the evaluation of another run, by document; repeatable."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="bertscore", help="Metric beside ROUGE; its model is the folder --set evaluate.bertscore_model=DIR."
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a report with the best and worst summaries as HTML.")
    ] = None,
    latex: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the table for LaTeX.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the table as CSV.")] = None,
    resume: Resume = False,
    verify: Verify = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON instead of a table.")] = False,
    faithfulness: Annotated[
        bool,
        typer.Option(
            "--faithfulness", help="Measure instead whether the model needs the sentences that its evidence names."
        ),
    ] = False,
    changes: Changes = None,
) -> None:
    """Score summaries with ROUGE, beside baselines.

    Prints ROUGE-1, -2, -L and -Lsum (F1, times 100) with 95 % intervals for the summaries, LEAD of three lengths,
    LexRank, TextRank, random sentences and an extractive oracle; then lengths, repeated trigrams, and numbers and names
    that the document does not contain; then wins, ties and losses, and faults of form. Generation settings change
    with --set, such as --set summarize.beams=1. For a classifier, prints accuracy, macro F1 and the confusion table.
    """
    from sumpool.evaluation.task import Results
    from sumpool.progress import GRACE, interruptible
    from sumpool.workflows.evaluate import evaluate_predictions, evaluate_run

    _require_target(target, references, verify)
    if verify:
        changes = [*(changes or ()), VERIFY]
    if faithfulness:
        if any((references, against, resume, out, metric, html, latex, csv)):
            raise RecipeError(
                "--faithfulness must come with a run folder, --split, --limit, --json, --verify and --set only"
            )
        _measure_faithfulness(target, split, limit, json, tuple(changes or ()))
        return
    if not references and _is_classifier(target):
        if any((against, resume, metric, html, latex, csv)):
            raise RecipeError("a classifier must be evaluated with --split, --limit, --out, --json and --set only")
        print_evaluation(target, split, limit, out, json, tuple(changes or ()))
        return
    overrides = [*(changes or ()), *([f"evaluate.metrics=[{','.join(metric)}]"] if metric else ())]
    results = Results(folder=out, resume=resume, against=against or (), html=html, latex=latex, csv=csv)
    with screen() as output, interruptible(GRACE) as interruption:
        report_to, check = output.report, interruption.check
        if target and references:
            report = evaluate_predictions(
                target,
                references,
                overrides=overrides,
                skip_missing=skip_missing,
                results=results,
                report=report_to,
                check=check,
            )
        else:
            report = evaluate_run(
                target,
                split,
                overrides=overrides,
                limit=limit,
                results=results,
                report=report_to,
                check=check,
            )
    if json:
        output.result(report.to_json().rstrip())
        return
    notes = "\n".join(wrap(line) for line in [*report.notes, report.signature])
    output.result("\n\n".join([*_tables(report), notes]))


def _require_target(target: Path | None, references: Path | None, verify: bool) -> None:
    """Check that the arguments name a run, or summaries with references."""
    if target and target.is_file() and not references:
        raise RecipeError(f"{target} must be a run folder, or come with --references REFS.jsonl, got a file alone")
    if references and not target:
        raise RecipeError("--references must come with a file of summaries, got none")
    if references and verify:
        raise RecipeError("--verify must come with a run folder, got a file of summaries, which has no prepared data")


def _is_classifier(run: Path | None) -> bool:
    """Return whether a run folder, or the newest run, has a classifier."""
    from sumpool.inference.model_choice import RUNS, newest_of_all, task_of

    return task_of(run or newest_of_all(RUNS)) == "classification"


def _tables(report: "EvaluationReport") -> list[str]:
    """Lay out the tables of a report that have rows; the scores in any case."""
    from sumpool.evaluation.tables import difference_table, form_table, length_table, score_table, win_table

    named = [
        ("", score_table(report), 2),
        ("ROUGE-1 / -2 / -Lsum by length of the document", length_table(report), 1),
        ("form: sentences with a fault", form_table(report), 1),
        (f"{report.rows[0].system if report.rows else ''} on each document", win_table(report), 1),
        ("differences of systems", difference_table(report.differences), 2),
    ]
    return [table(*cells, title=title, keys=keys) for title, cells, keys in named if cells[1] or not title]


def _measure_faithfulness(
    run: Path | None,
    split: Split,
    limit: int | None,
    json: bool,
    changes: tuple[str, ...],
) -> None:
    """Print how much the log-probability of summaries falls without the sentences that evidence names."""
    from sumpool.progress import GRACE, interruptible
    from sumpool.workflows.faithfulness import evaluate_faithfulness

    with screen() as output, interruptible(GRACE) as interruption:
        report = evaluate_faithfulness(
            run, split, overrides=changes, limit=limit, report=output.report, check=interruption.check
        )
    if json:
        output.result(report.to_json().rstrip())
        return
    output.result("\n\n".join([table(*report.table()), "\n".join(map(wrap, report.notes))]))
