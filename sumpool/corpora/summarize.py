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
from sumpool.inference.pipeline import EvidenceKind, Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.progress import Check, Report, no_op

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
        """Open the run."""
        run = RunFiles.open(job.model, job.overrides)
        if not run.config.fast:
            import torch  # here, as summaries without the model do not need it

            torch.set_num_threads(cores)
        self._job = job
        self._pipeline = Pipeline.open(run)

    def __call__(self, part: Part) -> PartResult:
        """Summarise the documents of a part and write their file.

        Raises:
            DataError: If a file of the part cannot be read any more.
            ResourceError: If the disk is full or fails.
        """
        start = time.perf_counter()
        rows = read_part(part, self._job.options)
        evidence: EvidenceKind | None = "sources" if self._job.evidence else None
        summaries = list(self._pipeline.summarize(rows.documents, evidence=evidence))
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
    parts: Sequence[Part], job: CorpusJob, cluster: Cluster, *, report: Report = no_op, check: Check = no_op
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
