"""Killed and resumed runs end bitwise equal to uninterrupted runs."""

import os
import signal
from pathlib import Path

import pytest
import torch

from sumpool.progress import Progress
from sumpool.training.checkpoint import Checkpoints
from sumpool.training.fit import fit
from tests.torture.figures import exit_code_of
from tests.training.toy import CONFIG, DATA, new_model, new_run, trace, train


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Content of an uninterrupted run."""
    first, again = (new_run(tmp_path_factory.mktemp("runs") / name) for name in ("first", "again"))
    for run in (first, again):
        assert exit_code_of(train, run) == 0
    assert trace(first) == trace(again)
    return trace(first)


def train_until(run: Path, place: str, number: int) -> None:
    """Train in a process that kills itself after a step, or before a call of `os.fsync` or `os.replace`."""
    original, calls = getattr(os, place, None), 0

    def operate(*given: object) -> None:
        nonlocal calls
        calls += 1
        if calls == number:
            os.kill(os.getpid(), signal.SIGKILL)
        assert original is not None
        original(*given)

    def report(progress: Progress) -> None:
        if place == "step" and progress.done == number and not progress.note:
            os.kill(os.getpid(), signal.SIGKILL)

    if original is not None:
        setattr(os, place, operate)
    torch.set_num_threads(1)
    fit(new_model(), CONFIG, DATA, run, report=report)


def test_a_run_killed_repeatedly_resumes_bitwise(uninterrupted: dict[str, str], tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    for place, number in (
        ("fsync", 1),
        ("step", 3),
        ("replace", 3),
        ("step", 7),
        ("fsync", 4),
        ("step", 12),
        ("replace", 2),
        ("step", 15),
        ("fsync", 6),
    ):
        assert exit_code_of(train_until, run, place, number) == -signal.SIGKILL
    assert exit_code_of(train, run) == 0
    assert trace(run) == uninterrupted


@pytest.mark.parametrize("last", [14, pytest.param(18, marks=pytest.mark.slow)])
def test_a_kill_before_pruning_leaves_no_outdated_checkpoints_and_temporary_files(
    last: int, uninterrupted: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prune = Checkpoints.prune

    def killed(checkpoints: Checkpoints, step: int, best_step: int) -> None:
        if step == last:
            raise KeyboardInterrupt
        prune(checkpoints, step, best_step)

    run = new_run(tmp_path / "run")
    monkeypatch.setattr(Checkpoints, "prune", killed)
    with pytest.raises(KeyboardInterrupt):
        train(run)
    monkeypatch.undo()
    (run / ".tmp34sI35").touch()  # temporary name of safetensors
    (run / ".tmp-model.safetensors").touch()
    train(run)
    assert trace(run) == uninterrupted
