"""Parts of a split, done in the process of the test instead of on a cluster."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from sumpool.corpora import split as module
from sumpool.corpora.cluster import Cluster
from sumpool.corpora.split import SplitJob, SplitPart, SplitSummary, divide_split, summarize_split
from sumpool.corpora.workers import ClusterTask
from sumpool.data.sources._base import Example
from sumpool.data.texts import TextsWriter
from sumpool.documents.document import Document
from sumpool.errors import CheckpointError, DataError
from sumpool.inference.loading import load_for_generation
from sumpool.inference.pipeline import Pipeline
from tests.conftest import story

DOCUMENTS = 40
CLUSTER = Cluster("local", 1, Path("ray.log"))


class Machine:
    """Cluster of one process, which does the parts from the last to the first.

    Attributes:
        done: Parts that were done.
        given_up: Starts of parts that are given up.
    """

    def __init__(self) -> None:
        self.done: list[int] = []
        self.given_up: set[int] = set()

    def execute_parts(
        self, parts: Sequence[SplitPart], task: ClusterTask[SplitPart, None]
    ) -> Iterator[tuple[int, None]]:
        execute = task.build(1)
        for number, part in reversed(list(enumerate(parts))):
            if part.start not in self.given_up:
                self.done.append(part.start)
                yield number, execute(part)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(module, "execute_parts", lambda parts, task, *_, **__: machine.execute_parts(parts, task))
    return machine


@pytest.fixture
def job(tmp_path: Path, run_folder: Path) -> SplitJob:
    with TextsWriter(tmp_path, "test") as texts:
        for number in range(DOCUMENTS):
            texts.add(Example(f"d{number}", story(number, 5), "A summary.", "test"))
    return SplitJob(run_folder, ("summarize.fast=true",), tmp_path, "test", tmp_path / "summaries")


def in_one_process(job: SplitJob) -> list[SplitSummary]:
    documents = [Document(f"d{number}", story(number, 5)) for number in range(DOCUMENTS)]
    return [
        SplitSummary(summary.id, summary.summary, summary.mode, summary.tokens_read, summary.tokens_total)
        for summary in Pipeline.of(load_for_generation(job.model, job.overrides)).summarize(documents)
    ]


def test_documents_are_divided_the_same_way_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = divide_split(range(0, 80, 2))
    assert [(part.start, part.indices[0], len(part.indices)) for part in parts] == [
        (0, 0, 16),
        (16, 32, 16),
        (32, 64, 8),
    ]
    assert [part.name for part in parts] == [
        "000000000-000000016.jsonl",
        "000000016-000000032.jsonl",
        "000000032-000000040.jsonl",
    ]
    monkeypatch.setattr(module, "MAX_PARTS", 2)
    assert [len(part.indices) for part in divide_split(range(40))] == [20, 20]


def test_summaries_are_those_of_one_process_in_the_order_of_the_split(job: SplitJob, machine: Machine) -> None:
    assert list(summarize_split(divide_split(range(DOCUMENTS)), job, CLUSTER)) == in_one_process(job)
    assert machine.done == [32, 16, 0]


def test_parts_with_a_file_are_not_done_again(job: SplitJob, machine: Machine) -> None:
    parts = divide_split(range(DOCUMENTS))
    expected = list(summarize_split(parts, job, CLUSTER))
    (job.folder / parts[1].name).unlink()
    machine.done.clear()
    assert list(summarize_split(parts, job, CLUSTER)) == expected
    assert machine.done == [16]
    assert list(summarize_split(parts, job, CLUSTER)) == expected
    assert machine.done == [16]


def test_a_part_that_is_given_up_ends_the_command_after_all_others_are_done(job: SplitJob, machine: Machine) -> None:
    parts = divide_split(range(DOCUMENTS))
    machine.given_up = {16}
    summaries = summarize_split(parts, job, CLUSTER)
    assert list(islice(summaries, 16)) == in_one_process(job)[:16]
    with pytest.raises(DataError, match=r"of 3 parts, got 2: the others were given up after 5 deaths .*ray\.log has"):
        next(summaries)
    machine.given_up.clear()
    assert list(summarize_split(parts, job, CLUSTER)) == in_one_process(job)
    assert machine.done == [32, 0, 16]


@pytest.mark.usefixtures("machine")
def test_a_file_that_another_machine_wrote_elsewhere_is_named(job: SplitJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "replace_file", lambda *_: None)
    with pytest.raises(DataError, match="must be under the same path on all machines of the cluster"):
        list(summarize_split(divide_split(range(DOCUMENTS)), job, CLUSTER))


@pytest.mark.usefixtures("machine")
def test_a_damaged_file_is_named(job: SplitJob) -> None:
    parts = divide_split(range(DOCUMENTS))
    list(summarize_split(parts, job, CLUSTER))
    (job.folder / parts[0].name).write_text(json.dumps(["d0", "A summary."]) + "\n")
    with pytest.raises(DataError, match=r"jsonl:1 must be a summary in JSON"):
        list(summarize_split(parts, job, CLUSTER))


@pytest.mark.usefixtures("machine")
def test_a_model_that_is_missing_is_an_error(job: SplitJob, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError):
        list(summarize_split(divide_split(range(DOCUMENTS)), replace(job, model=tmp_path), CLUSTER))
