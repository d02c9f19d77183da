"""Summaries of a split of prepared data by workers of a Ray cluster, given in the order of the split.

A worker writes the summaries of a part to a file, so that a command that was killed continues after the parts that are
done, whether they were scored or not.
"""

import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from sumpool.corpora.cluster import Cluster
from sumpool.corpora.parts import MAX_PARTS, PART_DOCUMENTS
from sumpool.corpora.workers import MAX_DEATHS, ClusterTask, execute_parts
from sumpool.data.sources._base import Split
from sumpool.data.texts import Texts
from sumpool.documents.document import Document
from sumpool.errors import DataError
from sumpool.inference.loading import load_for_generation
from sumpool.inference.pipeline import Pipeline
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.bounded import parse_json
from sumpool.io.json_lines import read_records
from sumpool.progress import Check, Report, no_op

_ADVICE: Final = "go on with --resume"


@dataclass(frozen=True)
class SplitJob:
    """Task of the workers.

    Attributes:
        model: The run folder, under the same path on all machines, as are the others.
        overrides: Settings to change, each like `summarize.beams=1`.
        prepared: Folder of the prepared data.
        split: The split.
        folder: Folder of the summaries, one file per part.
    """

    model: Path
    overrides: Sequence[str]
    prepared: Path
    split: Split
    folder: Path


class SplitPart(NamedTuple):
    """Consecutive documents of those to summarise.

    Attributes:
        start: Position of the first of them among all.
        indices: Index of each in the split.
    """

    start: int
    indices: tuple[int, ...]

    @property
    def name(self) -> str:
        """Name of the file of the summaries."""
        return f"{self.start:09d}-{self.start + len(self.indices):09d}.jsonl"


class SplitSummary(NamedTuple):
    """Summary of a document, as far as it is scored; attributes as in `Summary`."""

    id: str
    summary: str
    mode: str
    tokens_read: int
    tokens_total: int


class SplitSummarizer:
    """Summariser of parts of a split in a worker."""

    def __init__(self, job: SplitJob, cores: int) -> None:
        """Load the model and open the split."""
        import torch

        torch.set_num_threads(cores)
        self._loaded = load_for_generation(job.model, job.overrides)
        self._texts = Texts.open(job.prepared, job.split)
        self._folder = job.folder

    def __call__(self, part: SplitPart) -> None:
        """Summarise the documents of a part and write their file.

        Raises:
            DataError: If the prepared data is damaged.
            ResourceError: If the disk is full or fails.
        """
        examples = (self._texts[index] for index in part.indices)
        documents = (Document(example.id, example.document) for example in examples)
        lines = [
            json.dumps([getattr(summary, name) for name in SplitSummary._fields]) + "\n"
            for summary in Pipeline.of(self._loaded).summarize(documents)
        ]
        path = self._folder / part.name
        with disk_errors(path, advice=_ADVICE):
            replace_file(path, "".join(lines).encode())


def divide_split(indices: Sequence[int]) -> list[SplitPart]:
    """Divide documents into parts, the same in every run."""
    size = max(PART_DOCUMENTS, -(-len(indices) // MAX_PARTS))
    return [SplitPart(start, tuple(indices[start : start + size])) for start in range(0, len(indices), size)]


def summarize_split(
    parts: Sequence[SplitPart], job: SplitJob, cluster: Cluster, *, report: Report = no_op, check: Check = no_op
) -> Iterator[SplitSummary]:
    """Summarise the parts that have no file yet on a cluster.

    Args:
        parts: The parts.
        job: What is done with them.
        cluster: The cluster.
        report: Called with a note on the workers.
        check: Called while waiting for a result.

    Yields:
        Summaries in the order of the parts.

    Raises:
        CheckpointError: If the model is damaged.
        DataError: If a part had to be given up; all others have their files.
        ResourceError: If the folder cannot be written, or the cluster cannot be reached.
    """
    with disk_errors(job.folder):
        job.folder.mkdir(exist_ok=True)
        names = {path.name for path in job.folder.iterdir()}
    missing = [part for part in parts if part.name not in names]
    done = {part.name for part in parts} & names
    with closing(_execute(missing, job, cluster, report, check)) as finished:
        for part in parts:
            while part.name not in done and (name := next(finished, "")):
                done.add(name)
            if part.name not in done:  # all parts that do not kill their workers are finished
                raise DataError(
                    f"{job.folder} must have the summaries of {len(parts):,} parts, got {len(done):,}: the others were "
                    f"given up after {MAX_DEATHS} deaths of workers; {cluster.log} has why; {_ADVICE}, with fewer "
                    "--jobs if memory ran out"
                )
            yield from _read(job.folder / part.name)


def _execute(
    parts: Sequence[SplitPart], job: SplitJob, cluster: Cluster, report: Report, check: Check
) -> Generator[str]:
    """Summarise parts on a cluster and yield the names of their files, in any order; Ray starts for parts only."""
    task = ClusterTask(partial(SplitSummarizer, job), "summarise", "evaluate", _ADVICE)
    if parts:
        with closing(execute_parts(parts, task, cluster, report=report, check=check)) as results:
            for number, _ in results:
                yield parts[number].name


def _read(path: Path) -> Iterator[SplitSummary]:
    """Read the file of a part.

    Raises:
        DataError: If it is damaged, or another machine wrote it elsewhere.
    """
    try:
        yield from read_records(path, lambda line: SplitSummary(*parse_json(line)), "a summary in JSON", _ADVICE)
    except OSError as error:
        raise DataError(f"{path} must be under the same path on all machines of the cluster, got: {error}") from error
