import signal
from collections.abc import Callable
from typing import Any

import pytest
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from torch.distributed.launcher import api

from sumpool.errors import ResourceError
from sumpool.progress import Progress
from sumpool.training.launch import launch, launched_processes

Starts = list[tuple[Any, ...]]


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[Exception | None]], Starts]:
    """Replace the elastic launcher by one that ends as told, and return the command lines of its starts."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def install(ends: list[Exception | None]) -> Starts:
        commands: Starts = []

        def elastic_launch(config: api.LaunchConfig, program: str) -> Callable[..., None]:
            def start(*arguments: str) -> None:
                commands.append((config.nproc_per_node, program, *arguments))
                end = ends[len(commands) - 1]
                if end:
                    raise end

            return start

        monkeypatch.setattr(api, "elastic_launch", elastic_launch)
        return commands

    return install


def failed(*codes: int) -> ChildFailedError:
    failures = {rank: ProcessFailure(rank, 1, code, "") for rank, code in enumerate(codes) if code}
    return ChildFailedError("sumpool", failures)


def test_a_kill_starts_all_processes_again(starts: Callable[[list[Exception | None]], Starts]) -> None:
    saved = 128 + signal.SIGTERM
    ends = [failed(6, -signal.SIGKILL), failed(-signal.SIGTERM, -signal.SIGSEGV), failed(saved, -signal.SIGABRT)]
    commands = starts([*ends, None])
    notes: list[Progress] = []
    assert launch(2, ["train", "a.yaml"], notes.append) == 0
    assert [command[0] for command in commands] == [2, 2, 2, 2]
    assert commands[0][2:] == ("-m", "sumpool", "train", "a.yaml")
    assert [note.note for note in notes] == [
        "a process was killed by SIGKILL; restart 1 of 3",
        "a process was killed by SIGSEGV; restart 2 of 3",
        "a process was killed by SIGABRT; restart 3 of 3",
    ]


def test_errors_end_the_training_with_their_code(starts: Callable[[list[Exception | None]], Starts]) -> None:
    for end, status in (
        (failed(2, -signal.SIGTERM), 2),
        (failed(3, 6), 3),
        (failed(6, -signal.SIGTERM), 6),
        (failed(-signal.SIGTERM, -signal.SIGTERM), 143),
        (SignalException("stopped", signal.SIGINT), 130),
    ):
        commands = starts([end])
        assert launch(2, ["train"], lambda _: None) == status
        assert len(commands) == 1


def test_kills_without_end_are_an_error(starts: Callable[[list[Exception | None]], Starts]) -> None:
    commands = starts([failed(-signal.SIGKILL)] * 4)
    with pytest.raises(ResourceError, match="one was killed by SIGKILL in 4 starts"):
        launch(2, ["train"], lambda _: None)
    assert len(commands) == 4


def test_the_number_of_processes_is_that_of_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, count in (("", 1), ("1", 1), ("8", 8), ("many", 1)):
        monkeypatch.setenv("WORLD_SIZE", text)
        assert launched_processes() == count
