"""`sumpool evaluate`: score the summaries of a run, or of a file, and print a table."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from sumpool.cli.console import mark_segments, shows_colours, table, working, wrap
from sumpool.cli.options import VERIFY, Changes, Resume, Verify, choice, whole_number
from sumpool.errors import RecipeError
from sumpool.io.manifest import SHIPPED, run_folder

Split = Literal["train", "validation", "test"]
EqualLength = Literal["shortest", "references"]
FileFormat = Literal["text", "html", "pdf"]


def evaluate(
    targets: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN|FILE]...",
            parser=run_folder,
            help="Systems of one table: run folders, and files of summaries (JSON lines, CSV, or one a line); default: "
            "the newest run.",
        ),
    ] = None,
    split: Annotated[Split, choice("--split", Split, "Split of the run's data to evaluate.")] = "test",
    references: Annotated[
        Path | None, typer.Option(metavar="FILE", help="References for files of summaries without a run.")
    ] = None,
    names: Annotated[
        list[str] | None, typer.Option("--as", metavar="NAME", help="Name of a system, in their order; repeatable.")
    ] = None,
    limit: Annotated[
        int | None, whole_number("--limit", "Number of documents to evaluate, spread evenly over the split.")
    ] = None,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Ignore references without a summary instead of failing.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Output folder; default: inside the run folder.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="SYSTEM", help="System or baseline that the others are tested against; default: the first system."
        ),
    ] = None,
    equal_length: Annotated[
        EqualLength | None,
        choice("--equal-length", EqualLength, "Cut the summaries of a document to one length in the table."),
    ] = None,
    files: Annotated[
        FileFormat | None,
        choice("--files", FileFormat, "Write each document to a file of this format and read it first."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a report with the best and worst summaries as HTML.")
    ] = None,
    latex: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the table for LaTeX.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the table as CSV.")] = None,
    resume: Resume = False,
    verify: Verify = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON instead of a table.")] = False,
    changes: Changes = None,
) -> None:
    """Score summaries of one or several systems with ROUGE, beside baselines.

    Prints ROUGE-1, -2, -L and -Lsum (F1, times 100) with 95 % intervals for the systems, LEAD, LexRank,
    TextRank, random sentences and an extractive oracle; then lengths, repeated trigrams, and numbers and names that the
    document does not contain; then differences with paired tests. Settings change with
    --set, such as --set summarize.beams=1. For a classifier, prints accuracy, macro F1 and the confusion table; for a
    language model, bits per character, shortening factor, lengths of segments, and the segments of a sample.
    """
    from sumpool.evaluation.task import Results
    from sumpool.inference.run_files import models_of, task_of
    from sumpool.recipe.task import DEFAULT, find_task

    if not targets:
        targets = [] if references else [*models_of(), SHIPPED][:1]
    missing = next((path for path in targets if path.suffix and not path.exists() and not references), None)
    if missing:
        raise RecipeError(f"{missing} must be a run folder or a file of summaries, got no such file; check the path")
    summaries, folders = ([each for each in targets if test(each)] for test in (Path.is_file, Path.is_dir))
    if summaries and not folders and not references:
        raise RecipeError(f"{summaries[0]} must come with a run folder, or with --references FILE, got a file alone")
    if references and (not targets or folders):
        raise RecipeError(f"--references must come with files of summaries, got {folders[0] if folders else 'none'}")
    if references and verify:
        raise RecipeError("--verify must come with a run folder, got a file of summaries, which has no prepared data")
    if files and references:
        raise RecipeError("--files must come with a run folder, got a file of summaries")
    settings = tuple([*(changes or ()), *([VERIFY] if verify else [])])
    tasks = {task_of(target) or DEFAULT for target in targets}
    task = find_task(min(tasks, default=DEFAULT))
    if len(targets) > 1 and (len(tasks) > 1 or not task.compares_runs):
        compared = ", ".join(map(str, targets))
        raise RecipeError(f"several runs must be summarisers or language models, all of one task, got {compared}")
    if task.evaluate_options is not None:
        of_summaries = (references, names, against, equal_length, html, latex, csv, files, skip_missing)
        of_others = {"--resume": resume, "--verify": False}
        others = [value for name, value in of_others.items() if name not in task.evaluate_options]
        if any((*of_summaries, *others)):
            options = f"--split, --limit, {', '.join(task.evaluate_options)} and --set"
            raise RecipeError(f"a {task.kind} must be evaluated with {options} only")
    overrides = [*settings, *([f"evaluate.files={files}"] if files else [])]
    results = Results(out, resume, against or "", equal_length, html, latex, csv)
    with working() as output:
        shared: dict[str, Any] = {"overrides": overrides, "limit": limit, "results": results}
        shared |= {"report": output.report, "check": output.check}
        if task.evaluate_options is None:
            shared |= {"references": references, "names": names or (), "skip_missing": skip_missing}
        report = task.evaluate(targets, split, **shared)
    if json:
        output.result(report.to_json().rstrip())
        return
    tables = [table(*titled) for titled in report.tables()]
    notes = "\n".join(wrap(line) for line in report.sentences())
    output.result("\n\n".join([*tables, *([notes] if notes else [])]))
    for segments in report.samples():
        sys.stdout.write(f"\n{mark_segments(segments, shows_colours())}\n")
    sys.stdout.flush()
