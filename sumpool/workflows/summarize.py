"""`sumpool summarize`: documents in, summaries out, in the same order and as they are done."""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from sumpool.documents.document import Document
from sumpool.inference.pipeline import EvidenceKind, Pipeline
from sumpool.inference.run_files import RunFiles, choose_model, describe_choice
from sumpool.inference.summary import Summary
from sumpool.io.manifest import run_name
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.ranking.ranker import FILE as RANKER

if TYPE_CHECKING:
    from sumpool.inference.summary_file import SummaryFile


Rewrite = Callable[[Summary], Summary]
"""Returns a summary in other words."""
_Task = Sequence[Document]
"""Documents of a task of a process."""
_TASK_DOCUMENTS = 4
"""Documents of a task: few enough that results come steadily and all processes finish together."""
_PROCESS_MEMORY = 2**30
"""Free memory that a process takes."""
_FAST_PROCESSES = 2
"""Processes without the model at most."""


def summarize(
    documents: Iterable[Document],
    folder: Path | None = None,
    *,
    overrides: Sequence[str] = (),
    open_output: "Callable[[Mapping[str, str]], SummaryFile] | None" = None,
    jobs: int = 1,
    evidence: EvidenceKind | None = None,
    rewrite: Rewrite | None = None,
    report: Report = no_op,
    check: Check = no_op,
) -> Iterator[Summary]:
    """Summarise documents; each gets a summary or a reason, in the order of the documents.

    Args:
        documents: The documents; ids may repeat.
        folder: The run folder; None takes what `choose_model` does.
        overrides: Settings to change, each like `summarize.beams=1`.
        open_output: Opens a destination, given the settings that summaries depend on, that every one is saved to before
            it is given; documents whose summaries it has are passed over.
        jobs: Number of processes; 1 is the calling one, which also serves summaries that are rewritten.
        evidence: Evidence that summaries have; None for none.
        rewrite: Called with every summary; None leaves them as they are.
        report: Called with progress, and with notes on the model and on documents.
        check: Called between batches.

    Yields:
        Summaries, while later documents wait.

    Raises:
        CheckpointError: If there is no model, or it is damaged.
        RecipeError: If a setting is wrong, or the destination holds other files.
        DataError: If the destination holds summaries of other documents, of another model or other settings.
        ResourceError: If the destination cannot be written.
    """
    # 1. Find the model and open the destination, so that their errors appear before the first document is read.
    path = choose_model(folder)
    run = RunFiles.open(path, overrides)
    report(Progress("summarize", note=f"model: {describe_choice(folder)}"))
    if warning := run.training_note():
        report(Progress("summarize", note=warning))
    output = open_output(identity(run)) if open_output else None

    def generate(waiting: Iterable[Document], report: Report) -> Iterator[Summary]:
        if jobs == 1 or rewrite:  # which reads the sentences of the document, and takes most of the time
            return Pipeline.open(run).summarize(waiting, evidence=evidence, report=report, check=check)
        return summarize_in_processes(waiting, run, jobs=jobs, evidence=evidence, report=report, check=check)

    # 2. Generate summaries as they are asked for, and save each before it is given.
    return _deliver(documents, generate, output, rewrite, run_name(path), report)


def identity(run: RunFiles) -> dict[str, str]:
    """Return the settings that summaries of the model of a run depend on, by name."""
    listed = run.manifest.files  # compared with the files when they are loaded
    names = sorted(listed.keys() & {RANKER} if run.config.fast else listed)
    files = [(name, listed[name].sha256) for name in names]
    settings = run.config.model_dump(mode="json", exclude={"batch_tokens"})
    return {  # the first difference is named, and with `fast` other files are used
        **{f"summarize.{name}": json.dumps(value) for name, value in settings.items()},
        "model": sha256(json.dumps(files).encode()).hexdigest(),
    }


def _deliver(
    documents: Iterable[Document],
    generate: Callable[[Iterable[Document], Report], Iterator[Summary]],
    output: "SummaryFile | None",
    rewrite: Rewrite | None,
    model: str,
    report: Report,
) -> Iterator[Summary]:
    """Save and yield the summaries of documents; nothing is started where none is left to summarise."""
    total = len(documents) if isinstance(documents, Sized) else None
    skipped = 0
    first: tuple[float, int] | None = None  # time and count of the first report, after the model is loaded

    def left() -> Iterator[Document]:
        nonlocal skipped
        for document in documents:
            if output and not output.take(document):
                skipped += 1
            else:
                yield document

    def report_all(progress: Progress) -> None:
        """Report the progress over all documents, and the rate of those that are generated."""
        nonlocal first
        now, rate = time.monotonic(), {}
        if progress.done:
            first = first or (now, progress.done)
        if first and progress.done > first[1]:
            rate = {"documents/s": (progress.done - first[1]) / max(now - first[0], 1e-9)}
        report(replace(progress, done=progress.done + skipped, total=total, metrics=rate))

    with output or nullcontext():
        waiting = left()
        for document in waiting:
            for summary in generate(chain([document], waiting), report_all):
                complete = replace(summary, model=model)
                complete = rewrite(complete) if rewrite else complete
                if output:
                    output.save(complete)
                yield complete


def most_jobs(*, fast: bool) -> int:
    """Return the number of processes that this machine has room for: 1 on a GPU, otherwise one per core and GiB.

    Summaries without the model (`fast`) take two at most, which are as fast as the process that reads.
    """
    if fast:
        return min(_FAST_PROCESSES, os.cpu_count() or 1)
    # Imported here and below, as summaries without the model need no torch.
    import torch

    from sumpool.training.hardware import available, choose_device

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
    from sumpool.data.processes import ordered_map

    start = partial(_start, run.folder, run.overrides, jobs, evidence)
    waiting, done = iter(documents), 0
    tasks: Iterator[_Task] = iter(lambda: list(islice(waiting, _TASK_DOCUMENTS)), [])
    for summaries, notes in ordered_map(start, tasks, jobs, check):
        for note in notes:
            report(Progress("summarize", done, note=note))
        for summary in summaries:
            done += 1
            report(Progress("summarize", done))
            yield summary


def _start(
    folder: Path, overrides: Sequence[str], jobs: int, evidence: EvidenceKind | None
) -> "Callable[[_Task], tuple[list[Summary], list[str]]]":
    """Open a run in a worker process and return the function that summarises documents, and returns notes on them."""
    run = RunFiles.open(folder, overrides)
    if not run.config.fast:
        import torch

        torch.set_num_threads(max(1, torch.get_num_threads() // jobs))
    pipeline = Pipeline.open(run)

    def summarize(documents: _Task) -> tuple[list[Summary], list[str]]:
        notes: list[str] = []
        summaries = pipeline.summarize(
            documents, evidence=evidence, report=lambda progress: notes.extend(filter(None, (progress.note,)))
        )
        # the sentences of a document are many times as long as its summary, and only evidence refers to them
        return [summary if summary.evidence else replace(summary, source=()) for summary in summaries], notes

    return summarize
