"""`sumpool summarize`: documents in, summaries out, in the same order and as they are done."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import chain, tee
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from sumpool.documents.document import Document
from sumpool.inference.model_choice import RUNS, SHIPPED, default_model
from sumpool.inference.pipeline import EvidenceKind, Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.inference.summary import Summary
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.ranking.ranker import FILE as RANKER


class SummaryOutput(Protocol):
    """Destination of summaries; `with` closes it."""

    @property
    def failed(self) -> Sequence[str]:
        """Ids of the documents that were passed over although they have no summary."""

    def take(self, document: Document) -> bool:
        """Return whether the document needs a summary, which is then to be saved in the order of the documents."""

    def save(self, summary: Summary) -> None:
        """Save the summary of the earliest document taken that has none."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


OpenOutput = Callable[[Mapping[str, str]], SummaryOutput]
"""Opens the destination of summaries, given the settings that they depend on."""


class Generate(Protocol):
    """Generation of summaries by the settings of a run."""

    def __call__(
        self, documents: Iterable[Document], run: RunFiles, *, report: Report, check: Check
    ) -> Iterator[Summary]:
        """Yield the summaries in the order of the documents."""


def generate_here(
    documents: Iterable[Document],
    run: RunFiles,
    *,
    evidence: EvidenceKind | None = None,
    report: Report,
    check: Check,
) -> Iterator[Summary]:
    """Generate in the calling process."""
    return Pipeline.open(run).summarize(documents, evidence=evidence, report=report, check=check)


def summarize(
    documents: Iterable[Document],
    folder: Path | None = None,
    *,
    overrides: Sequence[str] = (),
    open_output: OpenOutput | None = None,
    generate: Generate = generate_here,
    report: Report = no_op,
    check: Check = no_op,
) -> Iterator[Summary]:
    """Summarise documents; each gets a summary or a reason, in the order of the documents.

    Args:
        documents: The documents; ids may repeat.
        folder: The run folder; None takes the newest run, or the shipped model if there is none.
        overrides: Settings to change, each like `summarize.beams=1`.
        open_output: Opens a destination that every summary is saved to before it is given; documents whose summaries
            it has are passed over.
        generate: Generates the summaries; by default in the calling process.
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
    path = folder or default_model(RUNS)
    run = RunFiles.open(path, overrides)
    name = "the shipped model" if path == SHIPPED else str(path)
    reason = f" (no run in {RUNS})" if path == SHIPPED else " (the newest run)"
    report(Progress("summarize", note=f"model: {name}{reason if folder is None else ''}"))
    output = open_output(_identity(run)) if open_output else None
    # 2. Generate summaries as they are asked for, and save each before it is given.
    progress = _Progress(report, len(documents) if isinstance(documents, Sized) else None)
    start = partial(generate, run=run, report=progress.report, check=check)
    return _deliver(documents, start, output, name, progress)


def summary_identity(folder: Path, overrides: Sequence[str]) -> dict[str, str]:
    """Return the settings that summaries of the model of a run folder depend on, by name.

    Raises:
        CheckpointError: If there is no model, or it is damaged.
        RecipeError: If a setting is wrong.
    """
    return _identity(RunFiles.open(folder, overrides))


def _identity(run: RunFiles) -> dict[str, str]:
    listed = run.manifest.files  # compared with the files when they are loaded
    names = sorted(listed.keys() & {RANKER} if run.config.fast else listed)
    files = [(name, listed[name].sha256) for name in names]
    settings = run.config.model_dump(mode="json", exclude={"batch_tokens"})
    return {
        "model": sha256(json.dumps(files).encode()).hexdigest(),
        **{f"summarize.{name}": json.dumps(value) for name, value in settings.items()},
    }


def _deliver(
    documents: Iterable[Document],
    start: Callable[[Iterable[Document]], Iterator[Summary]],
    output: SummaryOutput | None,
    model: str,
    progress: "_Progress",
) -> Iterator[Summary]:
    """Save and yield the summaries of documents; nothing is started where none is left to summarise."""

    def deliver(summary: Summary, document: Document) -> Summary:
        complete = replace(summary, title=document.title, model=model, notes=document.notes)
        if output:
            output.save(complete)
        return complete

    with output or nullcontext():
        waiting = progress.skip_done(documents, output) if output else iter(documents)
        for document in waiting:
            read, same = tee(chain([document], waiting))
            for summary, source in zip(start(read), same, strict=True):
                yield deliver(summary, source)


class _Progress:
    """Progress over all documents, with those that are not generated, and the rate of those that are."""

    def __init__(self, report: Report, total: int | None) -> None:
        self._report, self._total = report, total
        self._skipped = 0
        self._first: tuple[float, int] | None = None  # time and count of the first report, after the model is loaded

    def skip_done(self, documents: Iterable[Document], output: SummaryOutput) -> Iterator[Document]:
        """Yield the documents whose summaries the destination lacks."""
        for document in documents:
            if output.take(document):
                yield document
            else:
                self._skipped += 1

    def report(self, progress: Progress) -> None:
        """Report the progress of the generation."""
        now = time.monotonic()
        if progress.done:
            self._first = self._first or (now, progress.done)
        rate = {}
        if self._first and progress.done > self._first[1]:
            start, done = self._first
            rate = {"documents/s": (progress.done - done) / max(now - start, 1e-9)}
        self._report(replace(progress, done=progress.done + self._skipped, total=self._total, metrics=rate))
