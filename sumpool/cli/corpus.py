"""`sumpool summarize --ray`: a corpus on many machines, its summaries in a folder."""

import re
from dataclasses import replace

from sumpool.cli.console import working
from sumpool.cli.summary_output import warn_of_arguments
from sumpool.cli.text import name_documents
from sumpool.documents.corpus_files import is_uri
from sumpool.documents.read import STDIN, is_address
from sumpool.errors import DataError, RecipeError
from sumpool.workflows.summarize_corpus import CorpusJob, summarize_corpus

_URI = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
"""Beginning of a URI as a path, in which one of the slashes is left out; a drive of Windows has one letter."""


def summarize_on_ray(job: CorpusJob, address: str, workers: int | None, *, resume: bool, retry: bool) -> None:
    """Summarise files, folders and their URIs into a folder.

    Args:
        job: Corpus, model and destination.
        address: "local" or the address of a cluster.
        workers: Processes that summarise; None takes one per GPU or core.
        resume: Whether to go on with an existing folder.
        retry: Whether to summarise files again that have documents without a summary.

    Raises:
        RecipeError: If the corpus or the destination is none that `--ray` takes.
        DataError: If a document has no summary.
    """
    if _URI.match(str(job.folder)):
        raise RecipeError(
            f"--out must be a folder that all machines of the cluster share, got {job.folder}: object stores are read "
            "but not written; copy the folder to the store when it is complete"
        )
    if any(name == STDIN or is_address(name) for name in job.names):
        raise RecipeError("--ray must have files, folders or their URIs, got standard input or an http address")
    with working() as output:
        local = [name for name in job.names if not is_uri(name)]
        if local:
            warn_of_arguments(local, job.options, output.report)
        results = summarize_corpus(
            replace(job, model=job.model.resolve(), folder=job.folder.resolve()),
            address=address,
            workers=workers,
            resume=resume,
            retry=retry,
            report=output.report,
            check=output.check,
        )
    output.result(str(job.folder))
    failed = sum(result.failed for result in results)
    if failed:
        named = name_documents([name for result in results for name in result.failures], failed)
        documents = sum(result.documents for result in results)
        raise DataError(f"{failed:,} of {documents:,} documents have no summary: {named}; {job.folder} has why")
