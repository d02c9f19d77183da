"""`sumpool summarize --ray`: a corpus on many machines, its summaries in a folder."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sumpool.cli.console import screen
from sumpool.cli.summary_output import Target, warn_of_arguments
from sumpool.cli.text import name_documents
from sumpool.documents.addresses import is_address
from sumpool.documents.document import ReadOptions
from sumpool.documents.read import STDIN
from sumpool.errors import DataError, RecipeError
from sumpool.inference.model_choice import RUNS, default_model
from sumpool.progress import GRACE, interruptible

_URI = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
"""Beginning of a URI as a path, in which one of the slashes is left out; a drive of Windows has one letter."""


class CorpusRun(NamedTuple):
    """Options of `--ray`.

    Attributes:
        address: "local" or the address of a cluster.
        workers: Processes that summarise; None takes one per GPU or core.
        model: Run folder; None takes the default.
        overrides: Settings to change.
        options: Options of reading.
        evidence: Whether summaries have evidence.
    """

    address: str
    workers: int | None
    model: Path | None
    overrides: Sequence[str]
    options: ReadOptions
    evidence: bool


def summarize_on_ray(names: Sequence[str], run: CorpusRun, target: Target, *, is_plain: bool) -> None:
    """Summarise files, folders and their URIs into a folder.

    Args:
        names: Arguments of the command.
        run: Options of `--ray`.
        target: Destination.
        is_plain: Whether no option is given that `--ray` does not have.

    Raises:
        RecipeError: If an option cannot be combined with `--ray`.
        DataError: If a document has no summary.
    """
    from sumpool.documents.corpus_files import is_uri
    from sumpool.workflows.summarize_corpus import CorpusJob, summarize_corpus

    if not target.file or target.folder or target.page:
        raise RecipeError("--ray must come with --out FOLDER, and without --out-dir and --explain")
    if _URI.match(str(target.file)):
        raise RecipeError(
            f"--out must be a folder that all machines of the cluster share, got {target.file}: object stores are read "
            "but not written; copy the folder to the store when it is complete"
        )
    if not is_plain:
        raise RecipeError("--ray must come without --format, --json, --style, --title and --limit: it writes rows")
    if any(name == STDIN or is_address(name) for name in names):
        raise RecipeError("--ray must have files, folders or their URIs, got standard input or an http address")
    model = (run.model or default_model(RUNS)).resolve()
    job = CorpusJob(names, model, run.overrides, run.options, target.file.resolve(), run.evidence)
    with screen() as output, interruptible(GRACE) as interruption:
        local = [name for name in names if not is_uri(name)]
        if local:
            warn_of_arguments(local, run.options, output.report)
        results = summarize_corpus(
            job,
            address=run.address,
            workers=run.workers,
            resume=target.resume,
            retry=target.retry,
            report=output.report,
            check=interruption.check,
        )
    output.result(str(target.file))
    failed = sum(result.failed for result in results)
    if failed:
        named = name_documents([name for result in results for name in result.failures], failed)
        documents = sum(result.documents for result in results)
        raise DataError(f"{failed:,} of {documents:,} documents have no summary: {named}; {target.file} has why")
