from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from sumpool.errors import CheckpointError
from sumpool.progress import Check, no_op
from sumpool.studies import training
from sumpool.studies.training import (
    TIMES,
    clocked,
    read_times,
    trial_seconds,
)
from tests.training.test_classification import CONFIG, data, new_model

CPU = torch.device("cpu")


def trial(updates: int, check: Check = no_op) -> float:
    return trial_seconds(new_model(pairs=False), data(pairs=False), CONFIG, CPU, updates, check)


def test_processor_time_counts_and_waiting_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = iter([0.0, 1.0, 1.0, 4.0, 4.0, 6.0, 6.0, 11.0, 11.0, 12.0, 12.0, 16.0])  # of six updates
    monkeypatch.setattr(training, "time", SimpleNamespace(process_time=lambda: next(spent)))
    assert trial(1) == 3.0  # of 3, 2, 5, 1 and 4, after the first one


def test_a_trial_has_its_updates() -> None:
    calls: list[int] = []
    trial(9, lambda: calls.append(1))
    assert len(calls) == 9


def test_times_of_a_run_add_up(tmp_path: Path) -> None:
    run = tmp_path / "text" / "vanilla-seed1"
    assert read_times(run.parent) == {}
    with clocked(run):
        sum(range(2_000_000))
    first = read_times(run.parent)["vanilla-seed1"]
    assert first > 0

    def stop() -> None:
        with clocked(run):
            sum(range(2_000_000))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert read_times(run.parent)["vanilla-seed1"] > first


def test_damaged_times_are_named(tmp_path: Path) -> None:
    for content in ('{"a": "b"}', '{"a": null}'):
        (tmp_path / TIMES).write_text(content)
        with pytest.raises(CheckpointError, match=r"must hold processor seconds by run, got .*; delete it"):
            read_times(tmp_path)
