"""Killed and resumed runs end bitwise equal to uninterrupted runs."""

import multiprocessing
import random
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from sumpool.training.checkpoint import Checkpoints
from tests.training.toy import CONFIG, new_run, trace, train

PROCESSES = multiprocessing.get_context("forkserver")  # torch is imported once and every run is a fork
PROCESSES.set_forkserver_preload(["torch._dynamo", "tests.training.toy"])
KILLS = 10


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], float]:
    """Content of an uninterrupted run, and its time in seconds."""
    run = new_run(tmp_path_factory.mktemp("runs") / "uninterrupted")
    start_run(run).join()  # also starts the fork server
    again = new_run(run.with_name("again"))
    begin = time.monotonic()
    start_run(again).join()
    seconds = time.monotonic() - begin
    assert trace(run) == trace(again)
    return trace(run), seconds


def start_run(run: Path) -> BaseProcess:
    process = PROCESSES.Process(target=train, args=(run,))
    process.start()
    return process


def wait_until(condition: Callable[[], bool], process: BaseProcess) -> None:
    while process.is_alive() and not condition():
        time.sleep(0.0005)


@pytest.mark.parametrize("kill", range(KILLS))
def test_a_killed_run_resumes_bitwise(kill: int, uninterrupted: tuple[dict[str, str], float], tmp_path: Path) -> None:
    expected, seconds = uninterrupted
    draw = random.Random(kill)
    run = new_run(tmp_path / "run")
    process = start_run(run)
    if kill % 2:
        step = CONFIG.checkpoint_every * draw.randint(1, CONFIG.steps // CONFIG.checkpoint_every)
        partial_checkpoint = run / "checkpoints" / f".tmp-step-{step:08d}"
        wait_until(partial_checkpoint.exists, process)
        time.sleep(draw.uniform(0, 0.004))
    else:
        time.sleep(draw.uniform(0, seconds))
    process.kill()
    process.join()
    resumed = start_run(run)
    resumed.join()
    assert resumed.exitcode == 0
    assert trace(run) == expected


def test_a_run_killed_repeatedly_resumes_bitwise(uninterrupted: tuple[dict[str, str], float], tmp_path: Path) -> None:
    expected, seconds = uninterrupted
    draw = random.Random(1)
    run = new_run(tmp_path / "run")
    for _ in range(4):
        process = start_run(run)
        time.sleep(draw.uniform(0.3, 0.7) * seconds)
        process.kill()
        process.join()
    start_run(run).join()
    assert trace(run) == expected


@pytest.mark.parametrize("last", [6, 14, 18])
def test_a_kill_before_pruning_leaves_no_outdated_checkpoints(
    last: int, uninterrupted: tuple[dict[str, str], float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    train(run)
    assert trace(run) == uninterrupted[0]


def test_temporary_files_of_a_killed_export_are_removed(
    uninterrupted: tuple[dict[str, str], float], tmp_path: Path
) -> None:
    run = new_run(tmp_path / "run")
    (run / ".tmp34sI35").touch()  # temporary name of safetensors
    (run / ".tmp-model.safetensors").touch()
    train(run)
    assert trace(run) == uninterrupted[0]
