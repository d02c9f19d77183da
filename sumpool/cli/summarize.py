"""`sumpool summarize`: summarise files, folders, standard input, or a corpus on many machines."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from importlib.util import find_spec
from itertools import chain, islice
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sumpool.cli.console import Screen, name_documents, working
from sumpool.cli.options import (
    Changes,
    Documents,
    Field,
    Glob,
    KeepReferences,
    MaxBytes,
    Ocr,
    Password,
    Resume,
    Run,
    choice,
    whole_number,
)
from sumpool.documents.document import DEFAULT_OPTIONS, Document, ReadOptions
from sumpool.errors import DataError, RecipeError, SumpoolError
from sumpool.inference.rendering import SUFFIXES, Format, Rendering, Style
from sumpool.progress import Progress, Report

if TYPE_CHECKING:
    from sumpool.inference.pipeline import EvidenceKind
    from sumpool.inference.summary import Summary
    from sumpool.inference.summary_file import SummaryFile
    from sumpool.workflows.summarize_corpus import CorpusJob

Mode = Literal["abstractive", "extractive"]
_DOCUMENTS_PER_PROCESS = 16
"""Documents that are worth another process, which takes some seconds to start."""
_URI = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
"""Beginning of a URI as a path, in which one of the slashes is left out; a drive of Windows has one letter."""


def _length(text: str) -> str:
    """Check a length; the error names the option."""
    from sumpool.core.decoding.config import parse_length

    try:
        parse_length(text)
    except ValueError as error:
        raise RecipeError(f"--length {error}") from error
    return text


def summarize(
    files: Documents = None,
    model: Run = None,
    format: Annotated[
        Format, choice("--format", Format, "Format of the summaries; json is one object per line.")
    ] = "text",
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    style: Annotated[Style, choice("--style", Style, "Running text, or one item per sentence.")] = "paragraph",
    title: Annotated[
        bool | None,
        typer.Option(
            "--title/--no-title",
            help="Begin with the title of the document; by default where the summary does not name it.",
            show_default=False,
        ),
    ] = None,
    length: Annotated[
        str | None,
        typer.Option(
            metavar="150w|5s|10%|short|medium|long",
            parser=_length,
            help="Length in words, sentences, or relative to the document.",
        ),
    ] = None,
    focus: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Topic or question that the summary is to be about.")
    ] = None,
    key_points: Annotated[
        int | None, whole_number("--key-points", "Add further sentences of the document, with their pages.", 1, 100)
    ] = None,
    sections: Annotated[
        bool, typer.Option("--sections", help="Add one or two sentences for each section, with its page.")
    ] = False,
    together: Annotated[
        bool, typer.Option("--together", help="Make one digest of all documents instead of a summary of each.")
    ] = False,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Add the sentences of the document that each sentence comes from.")
    ] = False,
    explain: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Write a page that shows what the summary of one document rests on."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write JSON lines to a file instead; with --ray, to a folder.")
    ] = None,
    out_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a file per document; those that the folder has are passed over."),
    ] = None,
    resume: Resume = False,
    jobs: Annotated[
        int | None,
        whole_number(
            "--jobs",
            "Processes, each with its own copy of the model; one per core for 32 documents or more on a CPU, with "
            "--ray one per GPU or core.",
            1,
            65536,
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(metavar="local|ADDRESS", help="Summarise a corpus on a Ray cluster into the folder of --out."),
    ] = None,
    limit: Annotated[int | None, whole_number("--limit", "Maximum number of documents.")] = None,
    glob: Glob = "*",
    field: Field = None,
    keep_references: KeepReferences = False,
    max_bytes: MaxBytes = DEFAULT_OPTIONS.max_bytes,
    password: Password = "",
    ocr: Ocr = "",
    mode: Annotated[Mode | None, choice("--mode", Mode, "Generated text, or sentences of the document.")] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="Select sentences without the model, several times as fast.")
    ] = False,
    rewrite: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Rewrite the sentences by a language model behind the API of OpenAI on this machine, such as "
            "http://127.0.0.1:8080/v1, or .../v1#NAME; those with other facts stay.",
        ),
    ] = None,
    rewrite_remote: Annotated[
        bool, typer.Option("--rewrite-remote", help="Allow another machine in --rewrite: sentences are sent there.")
    ] = False,
    changes: Changes = None,
) -> None:
    """Summarise documents with a trained model.

    Prints each summary as soon as it is complete, and a note for every document that was not read to its end. Exits
    with 3 if a document has no summary; all others have theirs.
    """
    from sumpool.documents.read import join_documents, read_all
    from sumpool.documents.worker import WORKERS

    if not ray:
        WORKERS.prepare()  # while the rest is imported
    from sumpool.inference.run_files import choose_model, trained_field
    from sumpool.workflows.summarize import summarize as run_summarize

    shortcuts = {
        "mode": mode,
        "fast": fast or None,
        "focus": None if focus is None else dumps(focus),
        "key_points": key_points,
        "sections": sections or None,
        "length": None if length is None else dumps(length),  # a text in YAML, also where it is a number
    }
    assignments = [f"summarize.{name}={value}" for name, value in shortcuts.items() if value is not None]
    overrides = [*(changes or ()), *assignments]
    names = files or ["-"]
    rendering = Rendering("json" if json else format, style, title)
    is_single = together or (len(names) == 1 and not Path(names[0]).is_dir() and ".jsonl" not in names[0])
    with_ids = not is_single and not title and rendering.format in ("text", "markdown")
    options = ReadOptions(field, trained_field(choose_model(model)), keep_references, glob, max_bytes, password, ocr)
    if together and (ray or mode == "abstractive"):
        raise RecipeError("--together must come without --ray and --mode abstractive: it selects sentences at once")
    if ray:
        from sumpool.workflows.summarize_corpus import CorpusJob

        if not out or out_dir or explain:
            raise RecipeError("--ray must come with --out FOLDER, and without --out-dir and --explain")
        if rendering != Rendering() or limit is not None or rewrite:
            others = "--format, --json, --style, --title, --limit and --rewrite"
            raise RecipeError(f"--ray must come without {others}: it writes rows")
        job = CorpusJob(names, choose_model(model).resolve(), overrides, options, out.resolve(), evidence)
        _summarize_on_ray(job, out, ray, jobs, resume=resume)
        return
    if sum(path is not None for path in (out, out_dir, explain)) > 1:
        raise RecipeError(
            "one of --out, --out-dir and --explain must be given, got several; a folder holds summaries.jsonl too"
        )
    rewriter = None
    if rewrite:
        from sumpool.inference.rewriting import Rewriter  # here and below, as few summaries need it

        rewriter = Rewriter.open(rewrite, remote=rewrite_remote)

    def open_output(settings: Mapping[str, str]) -> "SummaryFile":
        # Imported here, as most summaries are printed.
        from sumpool.inference.summary_file import SummaryFile, SummaryFolder
        from sumpool.io.file_names import FileNames

        settings = {**settings, "evidence": "yes"} if evidence else settings
        settings = {**settings, "rewrite": f"{rewriter.address}#{rewriter.model}"} if rewriter else settings
        if out_dir:
            of_rendering = {name: str(value) for name, value in rendering._asdict().items()}
            file_names = FileNames(names, SUFFIXES[rendering.format])
            render = lambda summary: f"{rendering.render(summary)}\n"  # noqa: E731
            return SummaryFolder(out_dir, {**settings, **of_rendering}, file_names, render)
        assert out, "there is one destination"
        return SummaryFile(out, settings, resume=resume)

    shown: EvidenceKind = "page" if explain or rendering.format == "html" else "sources"
    with working() as output:
        _warn_of_arguments(names, options, output.report)
        if not files and sys.stdin.isatty():
            output.report(Progress("summarize", note="reading from the keyboard; end with Ctrl-D"))
        documents = read_all(names, options, limit, lambda notice: output.report(Progress("summarize", note=notice)))
        unread: list[str] = []
        if together:
            documents = list(documents)
            for document in documents:
                if not document.text.strip():
                    unread.append(document.id)
                    note = document.error or f"{document.id} must hold text, got none"
                    output.report(Progress("summarize", note=note))
            documents = [join_documents([document for document in documents if document.text.strip()])]
        if explain:
            from sumpool.io.replaceable import require_unlisted

            require_unlisted(explain)
            if not isinstance(documents, Sized) or len(documents) == 1:  # several files are refused unread
                documents = list(islice(documents, 2))
            if len(documents) > 1:
                advice = "name one, add --limit 1, or make one summary of all by --together"
                raise RecipeError(f"{explain} must explain one document, got several; {advice}")
        if not jobs and not rewriter:
            count, documents = _count(names, documents)
            jobs = choose_jobs(count, model, overrides, output.report)
        summaries = run_summarize(
            documents,
            model,
            overrides=overrides,
            open_output=open_output if out or out_dir else None,
            jobs=jobs or 1,
            evidence=shown if evidence or explain else None,
            rewrite=rewriter and rewriter.rewrite,
            report=output.report,
            check=output.check,
        )
        if explain:
            from sumpool.inference.html_pages import render_explanation
            from sumpool.io.atomic import disk_errors, replace_file

            explained = list(summaries)  # one at most
            for summary in explained:
                if summary.text:
                    with disk_errors(explain):
                        replace_file(explain, render_explanation(summary).encode())
            summaries = iter(explained)
        _print(summaries, unread, output, None if out or out_dir else rendering, with_ids=with_ids, is_digest=together)


def _warn_of_arguments(names: Sequence[str], options: ReadOptions, report: Report) -> None:
    """Report the arguments that cannot be read, so that they are known before a model is loaded.

    Raises:
        DataError: If no argument can be read, or standard input is closed.
    """
    from sumpool.documents.read import STDIN, check_arguments

    if STDIN in names and sys.stdin is None:
        raise DataError("standard input must be open, but it is closed: name a file, or pass the document by a pipe")
    problems = []
    for name in dict.fromkeys(names):
        try:
            check_arguments([name], options)
        except DataError as error:
            problems.append(str(error))
    if len(problems) == len(set(names)):
        raise DataError("; ".join(problems))
    for problem in problems:
        report(Progress("summarize", note=problem))


def _count(names: Sequence[str], documents: Iterable[Document]) -> tuple[int, Iterable[Document]]:
    """Return the number of documents, of files of rows up to what all cores are worth, and the documents.

    Nobody waits for the end of a stream, whose number is 0.
    """
    if isinstance(documents, Sized):
        return len(documents), documents
    if not all(Path(name).is_file() or Path(name).is_dir() for name in names):
        return 0, documents
    rest, first = iter(documents), list[Document]()
    try:
        first.extend(islice(rest, _DOCUMENTS_PER_PROCESS * (os.cpu_count() or 1)))
    except SumpoolError as error:  # the documents before it are summarised
        rest = _failing(error)
    return len(first), chain(first, rest)


def _failing(error: SumpoolError) -> Iterator[Document]:
    raise error
    yield


def choose_jobs(count: int, model: Path | None, overrides: Sequence[str], report: Report) -> int:
    """Return the number of processes where none is asked for, which is one for a few documents, and without PyTorch.

    Args:
        count: Number of documents.
        model: The run folder; None takes what `choose_model` does.
        overrides: Settings to change.
        report: Called with a note if there are several processes.
    """
    from sumpool.inference.run_files import RunFiles, choose_model
    from sumpool.workflows.summarize import most_jobs

    tasks = count // _DOCUMENTS_PER_PROCESS
    if tasks < 2:
        return 1
    is_fast = RunFiles.open(choose_model(model), overrides).config.fast
    jobs = min(tasks, most_jobs(fast=is_fast)) if is_fast or find_spec("torch") else 1
    if jobs > 1:
        report(Progress("summarize", note=f"{jobs} processes; --jobs 1 takes less memory"))
    return jobs


def _print(
    summaries: "Iterable[Summary]",
    unread: Sequence[str],
    output: Screen,
    rendering: Rendering | None,
    *,
    with_ids: bool,
    is_digest: bool,
) -> None:
    """Print summaries as they come, and notes on them; one note on all files that have the same.

    Args:
        summaries: The summaries.
        unread: Ids of documents that have none for having not been read.
        output: Destination of both.
        rendering: Format of the summaries; None prints the notes only.
        with_ids: Whether a line above each summary has its id.
        is_digest: Whether there is one summary, of several documents, whose notes name the documents.

    Raises:
        DataError: If a document has no summary.
    """
    count, failed, noted = len(unread), [*unread], dict[str, list[str]]()
    for summary in summaries:
        count += 1
        if summary.reason:
            failed.append(summary.id)
            subject = "" if summary.reason.startswith(summary.id) else f"{summary.id}: "
            output.report(Progress("summarize", note=f"{subject}no summary: {summary.reason}"))
        for note in filter(None, (*summary.notes, summary.cause)):
            noted.setdefault(note, []).append(summary.id)
            if rendering:
                output.report(Progress("summarize", note=note if is_digest else f"{summary.id}: {note}"))
        if rendering and (summary.text or rendering.format == "json"):
            text = rendering.render(summary)
            output.result(f"{rendering.render_id(summary)}\n{text}\n" if with_ids else text)
    for note, names in noted.items() if rendering is None else ():
        count_of_several = f" ({len(names):,})" if len(names) > 1 else ""
        output.report(Progress("summarize", note=f"{note}: {name_documents(names)}{count_of_several}"))
    if failed and len(failed) == count:
        raise DataError("no document could be summarised; see the reasons above")
    if failed:
        named = name_documents(failed)
        raise DataError(f"{len(failed):,} of {count:,} documents have no summary: {named}; see the reasons above")


def _summarize_on_ray(job: "CorpusJob", out: Path, address: str, workers: int | None, *, resume: bool) -> None:
    """Summarise files, folders and their URIs into a folder.

    Raises:
        RecipeError: If the corpus or the destination is none that `--ray` takes.
        DataError: If a document has no summary.
    """
    from sumpool.documents.corpus_files import is_uri
    from sumpool.documents.read import STDIN, is_address
    from sumpool.workflows.summarize_corpus import summarize_corpus

    if _URI.match(str(out)):
        raise RecipeError(
            f"--out must be a folder that all machines of the cluster share, got {out}: object stores are read but not "
            "written; copy the folder to the store when it is complete"
        )
    if any(name == STDIN or is_address(name) for name in job.names):
        raise RecipeError("--ray must have files, folders or their URIs, got standard input or an http address")
    with working() as output:
        local = [name for name in job.names if not is_uri(name)]
        if local:
            _warn_of_arguments(local, job.options, output.report)
        results = summarize_corpus(
            job, address=address, workers=workers, resume=resume, report=output.report, check=output.check
        )
    output.result(str(out))
    failed = sum(result.failed for result in results)
    if failed:
        named = name_documents([name for result in results for name in result.failures], failed)
        documents = sum(result.documents for result in results)
        raise DataError(f"{failed:,} of {documents:,} documents have no summary: {named}; {out} has why")
