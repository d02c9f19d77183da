"""Summaries by several processes, each with its own copy of the model."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import torch

from sumpool.data.processes import ordered_map
from sumpool.documents.document import Document
from sumpool.inference.pipeline import EvidenceKind, Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.inference.summary import Summary
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.training.hardware import available, choose_device

_TASK_DOCUMENTS = 4
"""Documents of a task: few enough that results come steadily and all processes finish together."""

_PROCESS_MEMORY = 2**30
"""Free memory that a process takes."""

Task = Sequence[Document]
Result = tuple[list[Summary], list[str]]
"""Summaries of a task, and notes on its documents."""


def most_jobs() -> int:
    """Return the number of processes that this machine has room for: 1 on a GPU, otherwise one per core and GiB."""
    device = choose_device("auto")
    if device.type != "cpu":
        return 1
    return max(1, min(torch.get_num_threads(), available(device) // _PROCESS_MEMORY))


def summarize_in_processes(
    documents: Iterable[Document],
    run: RunFiles,
    *,
    jobs: int,
    evidence: EvidenceKind | None = None,
    report: Report = no_op,
    check: Check = no_op,
) -> Iterator[Summary]:
    """Summarise documents in several processes.

    Args:
        documents: The documents, read only as fast as summaries are taken.
        run: The run, which each process opens anew.
        jobs: Number of processes, which share the cores.
        evidence: Evidence that summaries have; None for none.
        report: Called with progress and with the notes on documents.
        check: Called while waiting for a result.

    Yields:
        Summaries in the order of the documents.

    Raises:
        ResourceError: If memory runs out.
    """
    threads = max(1, torch.get_num_threads() // jobs)
    waiting = iter(documents)
    tasks: Iterator[Task] = iter(lambda: list(islice(waiting, _TASK_DOCUMENTS)), [])
    done = 0
    for summaries, notes in ordered_map(
        partial(_build, run.folder, run.overrides, threads, evidence), tasks, jobs, check
    ):
        for note in notes:
            report(Progress("summarize", done, note=note))
        for summary in summaries:
            done += 1
            report(Progress("summarize", done))
            yield summary


def _build(
    folder: Path, overrides: Sequence[str], threads: int, evidence: EvidenceKind | None
) -> Callable[[Task], Result]:
    """Open a run in a worker process and return the function that summarises the documents of a task."""
    torch.set_num_threads(threads)
    pipeline = Pipeline.open(RunFiles.open(folder, overrides))

    def summarize(documents: Task) -> Result:
        notes: list[str] = []

        def collect(progress: Progress) -> None:
            notes.extend([progress.note] if progress.note else [])

        summaries = pipeline.summarize(documents, evidence=evidence, report=collect)
        # the sentences of a document are many times as long as its summary, and only evidence refers to them
        return [summary if summary.evidence else replace(summary, source=()) for summary in summaries], notes

    return summarize
