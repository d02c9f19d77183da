"""Destination of the summaries of `sumpool summarize`: stdout, a file of JSON lines, or a folder."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from sumpool.cli.rendering import SUFFIXES, Rendering
from sumpool.errors import RecipeError
from sumpool.inference.summary_file import SummaryFile, SummaryFolder
from sumpool.io.file_names import FileNames
from sumpool.workflows.summarize import OpenOutput


class Target(NamedTuple):
    """Options of the command line that name a destination.

    Attributes:
        file: File of JSON lines.
        folder: Folder with a file per summary.
        resume: Whether an existing file is continued; a folder always is.
        retry: Whether documents that failed before are summarised again.
    """

    file: Path | None
    folder: Path | None
    resume: bool
    retry: bool


def open_output(target: Target, names: Sequence[str], rendering: Rendering) -> OpenOutput | None:
    """Return the function that opens the destination; None for stdout.

    Args:
        target: The destination.
        names: Arguments that name the documents.
        rendering: Rendering of the files of a folder.

    Raises:
        RecipeError: If there are two destinations.
    """
    if target.file and target.folder:
        raise RecipeError("--out and --out-dir must not come together; a folder holds summaries.jsonl too")
    if target.file:
        return partial(SummaryFile, target.file, resume=target.resume, retry=target.retry)
    if target.folder:
        return partial(_open_folder, target.folder, target.retry, names, rendering)
    return None


def _open_folder(
    folder: Path, retry: bool, names: Sequence[str], rendering: Rendering, settings: Mapping[str, str]
) -> SummaryFolder:
    files = FileNames(names, SUFFIXES[rendering.format])
    return SummaryFolder(
        folder,
        {**settings, **rendering.settings()},
        files,
        lambda summary: f"{rendering.render(summary)}\n",
        retry=retry,
    )
