"""`sumpool summarize --ray`: a corpus in, a folder of rows with their summaries out."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sumpool.corpora.cluster import LOG, Cluster, require_ray
from sumpool.corpora.files import is_uri
from sumpool.corpora.journal import PartJournal
from sumpool.corpora.parts import Part, PartResult, divide
from sumpool.corpora.summarize import CorpusJob, summarize_parts
from sumpool.corpora.workers import MAX_DEATHS
from sumpool.errors import DataError
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.workflows.summarize import summary_identity


def summarize_corpus(
    job: CorpusJob,
    *,
    address: str,
    workers: int | None = None,
    resume: bool = False,
    retry: bool = True,
    report: Report = no_op,
    check: Check = no_op,
) -> list[PartResult]:
    """Summarise a corpus on a Ray cluster.

    The corpus is divided into parts; each becomes a file of the folder, with the columns of its rows and those of the
    summaries. A command that was killed continues with the parts that are not done.

    Args:
        job: Corpus, model, settings, and the folder that is written.
        address: "local", or the address of a cluster.
        workers: Processes that summarise; None takes one per GPU, or per core if there are no GPUs.
        resume: Go on with an existing folder.
        retry: On resuming, summarise the parts again that have documents without a summary.
        report: Called with progress.
        check: Called while waiting for a part.

    Returns:
        Results of all parts, in the order of the corpus.

    Raises:
        CheckpointError: If the model is damaged.
        RecipeError: If a setting is wrong, Ray is not installed, or the folder holds other files.
        DataError: If the corpus cannot be read, or has changed since; or if parts had to be given up.
        ResourceError: If the folder cannot be written, or the cluster cannot be reached.
    """
    require_ray()
    report(Progress("summarize", note=f"model: {job.model}"))
    settings = {**summary_identity(job.model, job.overrides), "evidence": str(job.evidence)}
    # 1. Divide the corpus; the same files give the same parts.
    parts = divide(job.names, job.options, lambda notice: report(Progress("summarize", note=notice)))
    # 2. Summarise the parts that are not done; each is in the journal once its file is complete.
    with PartJournal(job.folder, settings | {"corpus": _digest(parts)}, resume=resume, retry=retry) as journal:
        waiting = [part for part in parts if part.index not in journal.results]
        if waiting:
            cluster = Cluster(address, workers, job.folder / LOG)
            done = sum(result.documents for result in journal.results.values())
            total = done + sum(part.documents for part in waiting)
            for result in summarize_parts(waiting, job, cluster, report=report, check=check):
                journal.save(result)
                done += result.documents
                report(Progress("summarize", done, max(done, total)))  # a part that cannot be read is one document
        results = [journal.results[part.index] for part in parts if part.index in journal.results]
    if len(results) < len(parts):
        raise DataError(
            f"{job.folder} must have {len(parts):,} parts, got {len(results):,}: the others were given up after "
            f"{MAX_DEATHS} deaths of workers; {job.folder / LOG} has why; go on with --resume, with fewer --jobs if "
            "memory ran out"
        )
    return results


def _digest(parts: Sequence[Part]) -> str:
    """Return the SHA-256 of the division of a corpus, and of the sizes of its local files."""
    digest = hashlib.sha256()
    sizes: dict[str, int] = {}
    for part in parts:
        for file in part.files:
            if file not in sizes and not is_uri(file):
                with suppress(OSError):
                    sizes[file] = Path(file).stat().st_size
        digest.update(f"{part.as_json()} {[sizes.get(file) for file in part.files]}\n".encode(errors="surrogatepass"))
    return digest.hexdigest()
