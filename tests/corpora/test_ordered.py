"""Tasks of a preparation on a cluster: in the process of the test, and on a local cluster where workers die."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from sumpool.corpora import ordered as module
from sumpool.corpora import workers
from sumpool.corpora.cluster import Cluster
from sumpool.corpora.ordered import map_on_cluster
from sumpool.corpora.workers import ClusterTask
from sumpool.errors import DataError
from sumpool.progress import no_op

TASKS = range(20)
GIVEN_UP = r"all \d+ parts must be prepared, but part {} was given up after {} deaths of workers; .*ray\.log has why"


def build() -> Callable[[int], int]:
    return lambda task: task * task


def build_deadly() -> Callable[[int], int]:
    def execute(task: int) -> int:
        if task == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return task

    return execute


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task for each part."""
    monkeypatch.setattr(module, "PART_TASKS", 1)


@pytest.fixture
def given_up(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Positions of parts that a cluster of one process gives up."""
    positions: set[int] = set()

    def execute_parts(
        parts: Sequence[tuple[int, ...]], task: ClusterTask[tuple[int, ...], list[int]], *_: object, **__: object
    ) -> Iterator[tuple[int, list[int]]]:
        assert task.in_order
        execute = task.build(1)
        yield from ((number, execute(part)) for number, part in enumerate(parts) if number not in positions)

    monkeypatch.setattr(module, "execute_parts", execute_parts)
    return positions


def results(folder: Path, build: Callable[[], Callable[[int], int]] = build) -> Iterator[int]:
    return map_on_cluster(Cluster("local", 1, folder / "ray.log"), no_op)(build, TASKS, 0, no_op)


@pytest.mark.usefixtures("given_up")
def test_results_are_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(results(tmp_path)) == [task * task for task in TASKS]
    for name, value in (("PART_TASKS", 8), ("MAX_PARTS", 2)):
        monkeypatch.setattr(module, name, value)
        assert list(results(tmp_path)) == [task * task for task in TASKS]


def test_parts_are_few_and_not_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module._divide(tuple(TASKS)) == [(task,) for task in TASKS]
    monkeypatch.setattr(module, "PART_TASKS", 8)
    assert [len(part) for part in module._divide(tuple(TASKS))] == [8, 8, 4]
    monkeypatch.setattr(module, "MAX_PARTS", 2)
    assert [len(part) for part in module._divide(tuple(TASKS))] == [10, 10]
    assert module._divide(()) == []


@pytest.mark.usefixtures("given_up")
def test_no_tasks_have_no_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.corpora.test_ordered.TASKS", ())
    assert list(results(tmp_path)) == []


@pytest.mark.parametrize("part", [0, 7, 19])
def test_a_part_that_is_given_up_is_an_error(part: int, tmp_path: Path, given_up: set[int]) -> None:
    given_up.add(part)
    mapped = results(tmp_path)
    assert [next(mapped) for _ in range(part)] == [task * task for task in range(part)]
    with pytest.raises(DataError, match=GIVEN_UP.format(part + 1, 5)):
        next(mapped)


def test_a_part_that_kills_its_workers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in (module, workers):
        monkeypatch.setattr(each, "MAX_DEATHS", 1)
    mapped = results(tmp_path, build_deadly)
    assert next(mapped) == 0
    with pytest.raises(DataError, match=GIVEN_UP.format(2, 1)):
        next(mapped)
    assert "actor" in (tmp_path / "ray.log").read_text()  # the cause that Ray names depends on the moment
