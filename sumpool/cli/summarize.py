"""`sumpool summarize`: documents in, summaries out."""

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
            metavar="FILE|FOLDER|-",
            help="Texts, JSON lines, folders of them; - or nothing is standard input.",
            show_default=False,
        ),
    ] = None,
    model: Run = None,
    json: Annotated[bool, typer.Option("--json", help="Print a line of JSON per document.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write lines of JSON to a file instead.", show_default=False)
    ] = None,
    resume: Resume = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after this many documents.")] = None,
    mode: Annotated[
        Literal["abstractive", "extractive", "auto"] | None,
        typer.Option(
            help="Words of the model's own, sentences of the document, or what says better what it might write."
        ),
    ] = None,
    beams: Annotated[int | None, typer.Option(help="Hypotheses per document; 1 is greedy search.")] = None,
    min_length: Annotated[str | None, typer.Option(metavar="TOKENS|auto", help="Fewest tokens of a summary.")] = None,
    max_length: Annotated[str | None, typer.Option(metavar="TOKENS|auto", help="Most tokens of a summary.")] = None,
    on_overflow: Annotated[
        Literal["truncate", "error", "window"] | None,
        typer.Option(help="What happens to a document that is longer than the model reads."),
    ] = None,
    precision: Annotated[
        Literal["auto", "fp32", "bf16", "int8"] | None,
        typer.Option(help="What weights are rounded to; auto is int8 on a CPU and bf16 on a GPU."),
    ] = None,
    changes: Changes = None,
) -> None:
    """Summarise documents with a trained model.

    Results appear as they are done. What is longer than the model reads is never cut without a word.
    """
    from sumpool.documents import read_documents
    from sumpool.interruption import interruptible
    from sumpool.workflows.summarize import summarize as write_summaries

    shortcuts = {
        "mode": mode,
        "beams": beams,
        "min_length": min_length,
        "max_length": max_length,
        "on_overflow": on_overflow,
        "precision": precision,
    }
    given = [f"summarize.{name}={value}" for name, value in shortcuts.items() if value is not None]
    names = files or ["-"]
    single = len(names) == 1 and not Path(names[0]).is_dir() and ".jsonl" not in names[0]
    documents = islice(chain.from_iterable(map(read_documents, names)), limit)
    summarized, failed = 0, 0
    with screen() as shown, interruptible() as interruption:
        if not files and sys.stdin.isatty():
            shown.report(Progress("summarize", note="reading from the keyboard; end with Ctrl-D"))
        for summary in write_summaries(
            documents,
            model,
            overrides=[*(changes or ()), *given],
            out=out,
            resume=resume,
            report=shown.report,
            check=interruption.check,
        ):
            summarized += not summary.reason
            failed += bool(summary.reason)
            if summary.reason:
                shown.report(Progress("summarize", note=f"{summary.id}: no summary: {summary.reason}"))
            if json and out is None:
                shown.result(summary.as_json())
            elif out is None and summary.summary:
                shown.result(summary.summary if single else f"{summary.id}\n{summary.summary}\n")
    if failed and not summarized:
        raise DataError("no document could be summarised; the reason for each stands above")
