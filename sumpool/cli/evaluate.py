"""`sumpool evaluate`: score the summaries of a run, or of a file, and print a table."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from sumpool.cli.classify import print_evaluation
from sumpool.cli.console import screen
from sumpool.cli.language_models import print_language_models
from sumpool.cli.options import (
    VERIFY,
    Changes,
    Resume,
    Verify,
    choice,
    require_ray_for_jobs,
    whole_number,
    workers_of_ray,
)
from sumpool.cli.text import table, wrap
from sumpool.errors import RecipeError

if TYPE_CHECKING:
    from sumpool.evaluation.report import EvaluationReport
    from sumpool.evaluation.task import Results
    from sumpool.progress import Report

Split = Literal["train", "validation", "test"]
_ONLY = "a {} must be evaluated with --split, --limit, {} and --set only"


def evaluate(
    targets: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN...|PREDICTIONS]",
            help="Run folder, or a file of summaries with --references; default: the newest run. Several language "
            "models are compared.",
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
    files: Annotated[
        str | None,
        choice("--files", ("text", "html", "pdf"), "Write each document to a file of this format and read it first."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a report with the best and worst summaries as HTML.")
    ] = None,
    latex: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the table for LaTeX.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the table as CSV.")] = None,
    resume: Resume = False,
    ray: Annotated[
        str | None, typer.Option(metavar="local|ADDRESS", help="Summarise the documents on a Ray cluster.")
    ] = None,
    jobs: Annotated[int | None, workers_of_ray("GPU, or per core if there are no GPUs")] = None,
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
    with --set, such as --set summarize.beams=1. For a classifier, prints accuracy, macro F1 and the confusion table;
    for a language model, bits per character, shortening factor, lengths of segments, and the segments of a sample.
    """
    from sumpool.evaluation.task import Results

    target = targets[0] if targets else None
    _require_target(target, references, verify)
    require_ray_for_jobs(ray, jobs)
    _require_none([files and references], "--files must come with a run folder, got a file of summaries")
    _require_none([files and ray], "--files must come without --ray, got both")
    _require_none([ray and references], "--ray must come with a run folder, got a file of summaries")
    _require_none(
        [references and (targets or ())[1:]], "--references must come with one file of summaries, got several"
    )
    settings = tuple([*(changes or ()), *([VERIFY] if verify else [])])
    task = "" if references else _task_of(targets)
    of_summaries = (references, against, metric, html, latex, csv, ray, files)
    if faithfulness:
        rule = "--faithfulness must come with a run folder, --split, --limit, --json, --verify and --set only"
        _require_none((*of_summaries, resume, out), rule)
        _measure_faithfulness(target, split, limit, json, settings)
        return
    if task == "language_modeling":
        _require_none(of_summaries, _ONLY.format("language model", "--out, --resume, --json, --verify"))
        print_language_models(targets or (), split, limit, out, resume=resume, json=json, changes=settings)
        return
    if task == "classification":
        _require_none((*of_summaries, resume), _ONLY.format("classifier", "--out, --json"))
        print_evaluation(target, split, limit, out, json, settings)
        return
    overrides = [*settings, *([f"evaluate.metrics=[{','.join(metric)}]"] if metric else ())]
    overrides += [f"evaluate.files={files}"] if files else []
    results = Results(folder=out, resume=resume, against=against or (), html=html, latex=latex, csv=csv)
    with screen() as output:
        report = _evaluate_summaries(
            target, references, split, limit, skip_missing, results, overrides, ray, jobs, output.report
        )
    if json:
        output.result(report.to_json().rstrip())
        return
    notes = "\n".join(wrap(line) for line in [*report.notes, report.signature])
    output.result("\n\n".join([*_tables(report), notes]))


def _evaluate_summaries(
    target: Path | None,
    references: Path | None,
    split: Split,
    limit: int | None,
    skip_missing: bool,
    results: "Results",
    overrides: Sequence[str],
    ray: str | None,
    jobs: int | None,
    report: "Report",
) -> "EvaluationReport":
    """Score the summaries of a run, or those of a file against references."""
    from sumpool.progress import GRACE, interruptible
    from sumpool.workflows.evaluate import evaluate_predictions, evaluate_run
    from sumpool.workflows.evaluate_on_ray import RayEvaluation, evaluate_on_ray

    with interruptible(GRACE) as interruption:
        if target and references:
            return evaluate_predictions(
                target,
                references,
                overrides=overrides,
                skip_missing=skip_missing,
                results=results,
                report=report,
                check=interruption.check,
            )
        if ray:
            evaluation = RayEvaluation(target, split, overrides, limit, ray, jobs)
            return evaluate_on_ray(evaluation, results=results, report=report, check=interruption.check)
        return evaluate_run(
            target,
            split,
            overrides=overrides,
            limit=limit,
            results=results,
            report=report,
            check=interruption.check,
        )


def _require_target(target: Path | None, references: Path | None, verify: bool) -> None:
    """Check that the arguments name a run, or summaries with references."""
    if target and target.is_file() and not references:
        raise RecipeError(f"{target} must be a run folder, or come with --references REFS.jsonl, got a file alone")
    if references and not target:
        raise RecipeError("--references must come with a file of summaries, got none")
    if references and verify:
        raise RecipeError("--verify must come with a run folder, got a file of summaries, which has no prepared data")


def _task_of(runs: Sequence[Path] | None) -> str:
    """Return the task of run folders, or of the newest run; empty without a recipe.

    Raises:
        RecipeError: If there are several runs, and not all are language models.
    """
    from sumpool.inference.model_choice import RUNS, newest_of_all, task_of

    tasks = {task_of(run) for run in runs or [newest_of_all(RUNS)]}
    if len(runs or ()) > 1 and tasks != {"language_modeling"}:
        names = ", ".join(map(str, runs or ()))
        raise RecipeError(f"several runs must be language models, got {names}; compare others with --against")
    return tasks.pop()


def _require_none(options: Sequence[object], rule: str) -> None:
    """Refuse options that a kind of evaluation does not have."""
    if any(options):
        raise RecipeError(rule)


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
