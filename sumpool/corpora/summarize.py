"""Summaries of the parts of a corpus by workers of a Ray cluster, each with its own copy of the model."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from sumpool.corpora.cluster import Cluster
from sumpool.corpora.parts import Part, PartResult
from sumpool.corpora.rows import read_part, write_part
from sumpool.corpora.workers import ClusterTask, execute_parts
from sumpool.documents.document import ReadOptions
from sumpool.inference import fast_summaries
from sumpool.inference.summary import Summary
from sumpool.progress import Check, Report, go_on, silent

_NAMED_FAILURES: Final = 10
"""Ids of failed documents that a result has at most."""


@dataclass(frozen=True)
class CorpusJob:
    """Task of the workers.

    Attributes:
        names: Files, folders, and their URIs in object stores.
        model: The run folder, under the same path on all machines.
        overrides: Settings to change, each like `summarize.beams=1`.
        options: Options of reading.
        folder: Folder of the summaries, under the same path on all machines.
        evidence: Whether summaries have evidence.
    """

    names: Sequence[str]
    model: Path
    overrides: Sequence[str]
    options: ReadOptions
    folder: Path
    evidence: bool = False


class PartSummarizer:
    """Summariser of parts in a worker."""

    def __init__(self, job: CorpusJob, cores: int) -> None:
        """Load the model."""
        self._job = job
        self._generate = _generation(job, cores)

    def __call__(self, part: Part) -> PartResult:
        """Summarise the documents of a part and write their file.

        Raises:
            DataError: If a file of the part cannot be read any more.
            ResourceError: If the disk is full or fails.
        """
        start = time.perf_counter()
        rows = read_part(part, self._job.options)
        summaries = list(self._generate(rows.documents))
        write_part(self._job.folder, part, rows, summaries, evidence=self._job.evidence)
        failures = [summary.id for summary in summaries if summary.reason]
        return PartResult(
            part.index,
            part.name,
            len(summaries),
            len(failures),
            failures[:_NAMED_FAILURES],
            sum(summary.tokens_read for summary in summaries),
            round(time.perf_counter() - start, 3),
        )


def summarize_parts(
    parts: Sequence[Part], job: CorpusJob, cluster: Cluster, *, report: Report = silent, check: Check = go_on
) -> Iterator[PartResult]:
    """Summarise parts on a cluster; each is written before its result is given.

    Args:
        parts: The parts.
        job: What is done with them.
        cluster: The cluster.
        report: Called with a note on the workers.
        check: Called while waiting for a result.

    Yields:
        Results in any order; none for a part that is given up.

    Raises:
        SumpoolError: What a worker raised.
        ResourceError: If the cluster cannot be reached, or is lost.
    """
    task = ClusterTask(partial(PartSummarizer, job), "summarise", "summarize", "go on with --resume")
    with closing(execute_parts(parts, task, cluster, report=report, check=check)) as results:
        for _, result in results:
            yield result


def _generation(job: CorpusJob, cores: int) -> "partial[Iterator[Summary]]":
    """Load what generates summaries of documents."""
    if fast_summaries.wants_fast(job.model, job.overrides) and not job.evidence:
        return partial(fast_summaries.generate_fast, model=fast_summaries.load_fast(job.model, job.overrides))
    import torch

    from sumpool.inference.evidence import summarize_with_evidence
    from sumpool.inference.loading import load_for_generation
    from sumpool.inference.summaries import generate_summaries

    torch.set_num_threads(cores)
    loaded = load_for_generation(job.model, job.overrides)
    return partial(summarize_with_evidence if job.evidence else generate_summaries, loaded=loaded)
