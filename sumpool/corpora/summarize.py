"""Summaries of the parts of a corpus by workers of a Ray cluster, each with its own copy of the model."""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Final

from sumpool import errors
from sumpool.corpora.cluster import Cluster, Resources, connect, divide_resources
from sumpool.corpora.parts import Part, PartResult
from sumpool.corpora.rows import read_part, write_part
from sumpool.data.processes import ordered_map
from sumpool.documents.document import ReadOptions
from sumpool.errors import ResourceError
from sumpool.inference import fast_summaries
from sumpool.inference.summary import Summary
from sumpool.io.bounded import parse_json
from sumpool.progress import Check, Progress, Report, go_on, silent

MAX_DEATHS: Final = 5
"""Workers that may die over one part before it is given up."""
_NAMED_FAILURES: Final = 10
"""Ids of failed documents that a result has at most."""


@dataclass(frozen=True)
class CorpusJob:
    """Task of the workers.

    Attributes:
        names: Files, folders, and their URIs in object stores.
        directory: Working directory, which relative names of files begin in.
        model: The run folder, under the same path on all machines.
        overrides: Settings to change, each like `summarize.beams=1`.
        options: Options of reading.
        folder: Folder of the summaries, under the same path on all machines.
        evidence: Whether summaries have evidence.
    """

    names: Sequence[str]
    directory: Path
    model: Path
    overrides: Sequence[str]
    options: ReadOptions
    folder: Path
    evidence: bool = False


class PartSummarizer:
    """Worker that summarises parts; Ray builds one per process."""

    def __init__(self, job: CorpusJob, cores: int) -> None:
        """Save the task; the model is loaded for the first part, where its errors are answers."""
        os.chdir(job.directory)
        self._job, self._cores = job, cores

    @cached_property
    def _generate(self) -> "partial[Iterator[Summary]]":
        return _generation(self._job, self._cores)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        """Summarise the parts of a batch, each as JSON; results, or errors that stop the command, are JSON too."""
        return {"result": [self._answer(Part.from_json(text)) for text in batch["part"]]}

    def _answer(self, part: Part) -> str:
        try:
            return self.summarize(part).as_json()
        except errors.SumpoolError as error:
            return json.dumps({"error": type(error).__name__, "message": str(error)})

    def summarize(self, part: Part) -> PartResult:
        """Summarise the documents of a part and write their file.

        Raises:
            CheckpointError: If the model is damaged.
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

    A part whose worker dies is done again by another one, up to `MAX_DEATHS` times. Ray runs in a process of its own,
    which it ends without a message when it is left while it works.

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
    with closing(ordered_map(partial(_start, parts, job, cluster), repeat(None), 1, check)) as answers:
        try:
            for answer in answers:
                if answer is None:
                    return
                if isinstance(answer, PartResult):
                    yield answer
                else:
                    report(Progress("summarize", note=answer))
        except ResourceError as error:
            if error.__cause__ is None:  # not the end of the process
                raise
            raise ResourceError(
                f"Ray must work until all parts are done, but it ended; {cluster.log} has why; go on with --resume"
            ) from error


def _start(parts: Sequence[Part], job: CorpusJob, cluster: Cluster) -> "Callable[[None], PartResult | str | None]":
    """Connect to the cluster and return the function that waits for the next result, or a note; None after the last."""
    connect(cluster)
    resources = divide_resources(cluster.workers)
    gpu = ", and a GPU" if resources.gpus else ""
    note = (
        f"parts to summarise: {len(parts):,}; workers: {resources.workers:,}, cores of each: {resources.cores:,}{gpu}"
    )
    answers: Iterator[PartResult | str] = chain([note], _results(parts, job, resources))
    return lambda _: next(answers, None)


def _results(parts: Sequence[Part], job: CorpusJob, resources: Resources) -> Iterator[PartResult]:
    from ray import data

    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    context.max_errored_blocks = -1
    items = [{"part": part.as_json()} for part in parts]
    results = data.from_items(items, override_num_blocks=len(items)).map_batches(
        PartSummarizer,
        batch_size=1,
        fn_constructor_args=(job, resources.cores),
        compute=data.ActorPoolStrategy(size=min(resources.workers, len(items)), max_tasks_in_flight_per_actor=1),
        num_cpus=resources.cores,
        num_gpus=resources.gpus or None,
        max_restarts=-1,
        max_task_retries=MAX_DEATHS - 1,
    )
    for batch in results.iter_batches(batch_size=None, prefetch_batches=0):  # each part as soon as it is done
        for text in batch["result"]:
            fields = parse_json(text)
            if "error" in fields:
                raise getattr(errors, fields["error"])(fields["message"])
            yield PartResult(**fields)


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
