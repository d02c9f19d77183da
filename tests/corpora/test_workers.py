"""A worker of a cluster, in the process of the test; Ray itself is tested by the commands."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sumpool.corpora.workers import NumberedPart, PartWorker
from sumpool.errors import DataError, ResourceError


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Return to the working directory, which a worker changes."""
    monkeypatch.chdir(tmp_path)


def build(cores: int) -> Callable[[str], str]:
    def execute(part: str) -> str:
        if part == "bad":
            raise DataError(f"{part} must be good")
        return f"{part} on {cores} in {Path.cwd().name}"

    return execute


def answers(worker: PartWorker[str, str], *parts: str) -> list[tuple[int, Any]]:
    batch = {"part": [NumberedPart(number, part) for number, part in enumerate(parts)]}
    return [(answer.number, answer.error or answer.result) for answer in worker(batch)["answer"]]


def test_parts_are_done_in_the_directory_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    worker = PartWorker(build, tmp_path / "here", 3)
    assert answers(worker, "a", "b") == [(0, "a on 3 in here"), (1, "b on 3 in here")]


def test_an_error_is_an_answer(tmp_path: Path) -> None:
    (_, error), (_, result) = answers(PartWorker(build, tmp_path, 1), "bad", "good")
    assert isinstance(error, DataError)
    assert str(error) == "bad must be good"
    assert result.startswith("good")


def test_an_error_of_loading_is_an_answer(tmp_path: Path) -> None:
    def fail(cores: int) -> Callable[[str], str]:
        raise DataError(f"a model must be whole on {cores} cores")

    ((_, error),) = answers(PartWorker(fail, tmp_path, 2), "a")
    assert str(error) == "a model must be whole on 2 cores"


def test_a_directory_that_a_machine_lacks_is_an_answer(tmp_path: Path) -> None:
    before = Path.cwd()
    ((_, error),) = answers(PartWorker(build, tmp_path / "elsewhere", 1), "a")
    assert isinstance(error, ResourceError)
    assert "must be a folder on all machines of the cluster" in str(error)
    assert Path.cwd() == before
