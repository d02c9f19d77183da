"""Choices of `sumpool summarize` beyond settings: destination and generation of the summaries, and its arguments."""

import sys
from collections.abc import Mapping, Sequence, Sized
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sumpool.documents.document import ReadOptions
from sumpool.documents.read import STDIN, check_arguments
from sumpool.errors import DataError
from sumpool.inference.rendering import SUFFIXES, Rendering
from sumpool.inference.run_files import REPORT, RunFiles, choose_model
from sumpool.io.bounded import read_json
from sumpool.progress import Progress, Report

if TYPE_CHECKING:
    from sumpool.workflows.summarize import SummaryOutput

_DOCUMENTS_PER_PROCESS = 16
"""Documents that are worth another process, which takes some seconds to start."""


def open_output(
    settings: Mapping[str, str],
    names: Sequence[str],
    rendering: Rendering,
    *,
    file: Path | None,
    folder: Path | None,
    page: Path | None,
    count: int | None,
    resume: bool,
    retry: bool,
) -> "SummaryOutput":
    """Open the destination of summaries.

    Args:
        settings: What the summaries depend on besides their documents.
        names: Arguments that name the documents.
        rendering: Rendering of the files of a folder.
        file: File of JSON lines.
        folder: Folder with a file per summary.
        page: HTML page that explains the summary of one document; there is one destination.
        count: Number of documents; None if it is not known.
        resume: Whether an existing file is continued; a folder always is.
        retry: Whether documents that failed before are summarised again.
    """
    # Imported here, as most summaries are printed.
    from sumpool.inference.summary_file import ExplanationFile, SummaryFile, SummaryFolder
    from sumpool.io.file_names import FileNames

    if page:
        return ExplanationFile(page, count)
    if file:
        return SummaryFile(file, settings, resume=resume, retry=retry)
    assert folder, "there is one destination"
    return SummaryFolder(
        folder,
        {**settings, **{name: str(value) for name, value in rendering._asdict().items()}},
        FileNames(names, SUFFIXES[rendering.format]),
        lambda summary: f"{rendering.render(summary)}\n",
        retry=retry,
    )


def choose_jobs(documents: object, model: Path | None, overrides: Sequence[str], report: Report) -> int:
    """Return the number of processes where none is asked for.

    It is one for a few documents, where their number is not known, and for summaries without the model or PyTorch,
    which one process makes as fast as it reads.

    Args:
        documents: The documents.
        model: The run folder; None takes what `choose_model` does.
        overrides: Settings to change.
        report: Called with a note if there are several processes.
    """
    tasks = len(documents) // _DOCUMENTS_PER_PROCESS if isinstance(documents, Sized) else 0
    if tasks < 2 or RunFiles.open(choose_model(model), overrides).config.fast or find_spec("torch") is None:
        return 1
    from sumpool.workflows.summarize import most_jobs

    jobs = min(tasks, most_jobs())
    if jobs > 1:
        report(Progress("summarize", note=f"{jobs} processes; --jobs 1 takes less memory"))
    return jobs


def trained_field(model: Path | None) -> str | None:
    """Return the field of the documents that a model was trained on; None if it is not known."""
    path = choose_model(model) / REPORT
    try:  # without the schema of reports, which takes longer to import than a document to summarise
        fields = read_json(path, DataError, "train again").get("fields")
    except DataError:
        return None
    field = fields.get("document") if isinstance(fields, dict) else None
    return field if isinstance(field, str) else None


def warn_of_arguments(names: Sequence[str], options: ReadOptions, report: Report) -> None:
    """Report the arguments that cannot be read, so that they are known before a model is loaded.

    Raises:
        DataError: If no argument can be read, or standard input is closed.
    """
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
