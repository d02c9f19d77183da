from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from sumpool.bench.results import Column, Row
from sumpool.errors import CheckpointError
from sumpool.progress import Check, no_op
from sumpool.studies import study
from sumpool.studies.study import (
    TIMES,
    clocked,
    make_table,
    read_times,
    trial_seconds,
)
from tests.training.test_classification import CONFIG, data, new_model

CPU = torch.device("cpu")


def trial(updates: int, check: Check = no_op) -> float:
    return trial_seconds(new_model(pairs=False), data(pairs=False), CONFIG, CPU, updates, check)


def test_processor_time_counts_and_waiting_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = iter([0.0, 1.0, 1.0, 4.0, 4.0, 6.0, 6.0, 11.0, 11.0, 12.0, 12.0, 16.0])  # of six updates
    monkeypatch.setattr(study, "time", SimpleNamespace(process_time=lambda: next(spent)))
    assert trial(1) == 3.0  # of 3, 2, 5, 1 and 4, after the first one


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


def test_facts_and_columns_fill_a_table() -> None:
    facts = {"documents": 3, "mean_sentences": 4.26}
    table = make_table(
        "kept", [Row({"sentences": 1, "x": 0.5})], facts, columns=[Column("layer x", "x", ".2f")], notes=["more"]
    )
    assert table.headings() == ["sentences", "layer x"]
    assert table.cells() == [("1", "0.50")]
    assert table.notes[0].startswith("mean over tokens and 3 validation documents of 4.3 sentences")
    assert table.notes[1] == "more"
