"""`sumpool summarize`: summarise files, folders or standard input."""

import sys
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Literal

import typer

from sumpool.cli.console import screen
from sumpool.cli.options import Changes, Resume, Run
from sumpool.errors import DataError
from sumpool.progress import Progress


def summarize(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE|FOLDER|-", help="Documents, JSON lines or folders; - or nothing reads standard input."
        ),
    ] = None,
    model: Run = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per document.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JSON lines to a file instead.")] = None,
    resume: Resume = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of documents.")] = None,
    mode: Annotated[
        Literal["abstractive", "extractive", "auto"] | None,
        typer.Option(
            help="Generated text, sentences of the document, or per document the one that the model agrees with more."
        ),
    ] = None,
    beams: Annotated[int | None, typer.Option(help="Beam size; 1 is greedy search.")] = None,
    min_length: Annotated[str | None, typer.Option(metavar="TOKENS|auto", help="Minimum length of a summary.")] = None,
    max_length: Annotated[str | None, typer.Option(metavar="TOKENS|auto", help="Maximum length of a summary.")] = None,
    on_overflow: Annotated[
        Literal["truncate", "error", "window"] | None,
        typer.Option(help="Treatment of documents longer than the model's input."),
    ] = None,
    precision: Annotated[
        Literal["auto", "fp32", "bf16", "int8"] | None,
        typer.Option(help="Precision of the weights; auto is int8 on a CPU and bf16 on a GPU."),
    ] = None,
    changes: Changes = None,
) -> None:
    """Summarise documents with a trained model.

    Prints each summary as soon as it is complete, and a note for every truncated document.
    """
    from sumpool.documents.read import read_documents
    from sumpool.progress import interruptible
    from sumpool.workflows.summarize import summarize as run_summarize

    shortcuts = {
        "mode": mode,
        "beams": beams,
        "min_length": min_length,
        "max_length": max_length,
        "on_overflow": on_overflow,
        "precision": precision,
    }
    assignments = [f"summarize.{name}={value}" for name, value in shortcuts.items() if value is not None]
    names = files or ["-"]
    single = len(names) == 1 and not Path(names[0]).is_dir() and ".jsonl" not in names[0]
    documents = islice(chain.from_iterable(map(read_documents, names)), limit)
    summarized, failed = 0, 0
    with screen() as output, interruptible() as interruption:
        if not files and sys.stdin.isatty():
            output.report(Progress("summarize", note="reading from the keyboard; end with Ctrl-D"))
        for summary in run_summarize(
            documents,
            model,
            overrides=[*(changes or ()), *assignments],
            out=out,
            resume=resume,
            report=output.report,
            check=interruption.check,
        ):
            summarized += not summary.reason
            failed += bool(summary.reason)
            if summary.reason:
                output.report(Progress("summarize", note=f"{summary.id}: no summary: {summary.reason}"))
            if json and out is None:
                output.result(summary.as_json())
            elif out is None and summary.summary:
                output.result(summary.summary if single else f"{summary.id}\n{summary.summary}\n")
    if failed and not summarized:
        raise DataError("no document could be summarised; see the reasons above")
