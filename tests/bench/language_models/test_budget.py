import time
from pathlib import Path

import pytest
import torch

from sumpool.bench.language_models.budget import TIMES, affordable_steps, clocked, read_times, trial_seconds
from sumpool.errors import CheckpointError
from sumpool.progress import Check, go_on
from sumpool.training.update import Updater
from tests.training.test_classification import CONFIG, data, new_model

CPU = torch.device("cpu")


def trial(updates: int, check: Check = go_on) -> float:
    return trial_seconds(new_model(pairs=False), data(pairs=False), CONFIG, CPU, updates, check)


def test_waiting_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    update = Updater.update

    def wait(*arguments: object, **named: object) -> object:
        time.sleep(0.3)
        return update(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Updater, "update", wait)
    assert trial(1) < 0.3


def test_a_trial_has_its_updates() -> None:
    calls: list[int] = []
    trial(9, lambda: calls.append(1))
    assert len(calls) == 9


def test_a_budget_buys_at_least_one_update() -> None:
    assert affordable_steps(2, 0.5) == 240
    assert affordable_steps(0.001, 10) == 1


def test_times_of_a_run_add_up(tmp_path: Path) -> None:
    run = tmp_path / "text" / "vanilla-seed1"
    assert read_times(run.parent) == {}
    with clocked(run):
        sum(range(2_000_000))
    first = read_times(run.parent)["vanilla-seed1"]
    assert 0 < first < 10

    def stop() -> None:
        with clocked(run):
            sum(range(2_000_000))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert read_times(run.parent)["vanilla-seed1"] > first


@pytest.mark.parametrize("content", ['{"a": "b"}', '{"a": null}'])
def test_damaged_times_are_named(tmp_path: Path, content: str) -> None:
    (tmp_path / TIMES).write_text(content)
    with pytest.raises(CheckpointError, match=r"must hold processor seconds by run, got .*; delete it"):
        read_times(tmp_path)
