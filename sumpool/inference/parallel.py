"""Summaries by several processes, each with its own copy of the model."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Protocol

import torch

from sumpool.data.processes import ordered_map
from sumpool.documents.document import Document
from sumpool.inference.loading import LoadedModel, load_for_generation
from sumpool.inference.summaries import generate_summaries
from sumpool.inference.summary import Summary
from sumpool.progress import Check, Progress, Report, go_on, silent
from sumpool.training.hardware import choose_device
from sumpool.training.memory import available

_TASK_DOCUMENTS = 4
"""Documents of a task: few enough that results come steadily and all processes finish together."""

_PROCESS_MEMORY = 2**30
"""Free memory that a process takes."""

Task = Sequence[Document]
Result = tuple[list[Summary], list[str]]
"""Summaries of a task, and notes on its documents."""


class GenerateTask(Protocol):
    """Generation of summaries with a loaded model, such as `generate_summaries`."""

    def __call__(self, documents: Sequence[Document], loaded: LoadedModel, *, report: Report) -> Iterator[Summary]:
        """Yield the summaries in the order of the documents."""


def most_jobs() -> int:
    """Return the number of processes that this machine has room for: 1 on a GPU, otherwise one per core and GiB."""
    device = choose_device("auto")
    if device.type != "cpu":
        return 1
    return max(1, min(torch.get_num_threads(), available(device) // _PROCESS_MEMORY))


def summarize_in_processes(
    documents: Iterable[Document],
    folder: Path,
    overrides: Sequence[str] = (),
    *,
    jobs: int,
    generate: GenerateTask = generate_summaries,
    report: Report = silent,
    check: Check = go_on,
) -> Iterator[Summary]:
    """Summarise documents in several processes.

    Args:
        documents: The documents, read only as fast as summaries are taken.
        folder: The run folder.
        overrides: Settings to change, each like `summarize.beams=1`.
        jobs: Number of processes, which share the cores.
        generate: Generates the summaries of a task; a function that can be pickled.
        report: Called with progress and with the notes on documents.
        check: Called while waiting for a result.

    Yields:
        Summaries in the order of the documents.

    Raises:
        ResourceError: If memory runs out.
    """
    threads = max(1, torch.get_num_threads() // jobs)
    done = 0
    for summaries, notes in ordered_map(
        partial(_build, folder, overrides, threads, generate), _tasks(documents), jobs, check
    ):
        for note in notes:
            report(Progress("summarize", done, note=note))
        for summary in summaries:
            done += 1
            report(Progress("summarize", done))
            yield summary


def _tasks(documents: Iterable[Document]) -> Iterator[Task]:
    documents = iter(documents)
    while task := list(islice(documents, _TASK_DOCUMENTS)):
        yield task


def _build(folder: Path, overrides: Sequence[str], threads: int, generate: GenerateTask) -> Callable[[Task], Result]:
    """Load the model in a worker process and return the function that summarises the documents of a task."""
    torch.set_num_threads(threads)
    loaded = load_for_generation(folder, overrides)

    def summarize(documents: Task) -> Result:
        notes: list[str] = []

        def collect(progress: Progress) -> None:
            notes.extend([progress.note] if progress.note else [])

        summaries = generate(documents, loaded, report=collect)
        # the sentences of a document are many times as long as its summary, and only evidence refers to them
        return [summary if summary.evidence else replace(summary, source=()) for summary in summaries], notes

    return summarize
