import json
import os
from pathlib import Path

import pytest

from sumpool.errors import CheckpointError, RecipeError, ResourceError
from sumpool.training.journal import Journal


def records(path: Path) -> list[tuple[str, int]]:
    return [(record["kind"], record["step"]) for record in map(json.loads, path.read_text().splitlines())]


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    journal = Journal(tmp_path / "metrics.jsonl")
    for step in (1, 2, 3):
        journal.append("step", step, {"loss": 0.5})
        journal.append("validation", step, {"nats": 0.25})
    return journal


def test_every_record_is_a_line(journal: Journal) -> None:
    assert json.loads(journal.path.read_text().splitlines()[1]) == {"kind": "validation", "step": 1, "nats": 0.25}


def test_rewind_keeps_the_records_before_a_checkpoint(journal: Journal) -> None:
    journal.rewind(2)
    assert records(journal.path) == [("step", 1), ("validation", 1), ("step", 2)]


def test_rewind_drops_a_torn_line_and_anything_but_records(journal: Journal) -> None:
    with journal.path.open("a") as file:
        file.write('[]\n{"step": 1}\nno JSON\n{"kind": "step", "step": 3, "lo')
    journal.rewind(9)
    assert len(records(journal.path)) == 6


def test_rewind_creates_a_missing_file(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "metrics.jsonl")
    journal.sync()
    journal.rewind(0)
    assert journal.path.read_bytes() == b""


def test_a_failing_disk_is_a_resource_error(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(28, f"No space left on device {descriptor}")

    monkeypatch.setattr(os, "fsync", fail)
    before = journal.path.read_bytes()
    for action in (journal.sync, lambda: journal.rewind(1)):
        with pytest.raises(ResourceError, match=r"metrics\.jsonl must be written completely, got: .*No space left"):
            action()
    assert journal.path.read_bytes() == before
    with pytest.raises(RecipeError, match="must be a path that can be written"):
        Journal(journal.path.parent / "missing" / "metrics.jsonl").append("step", 1, {})


def test_records_are_read_and_a_torn_line_is_skipped(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "metrics.jsonl")
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl must be the metrics log of a run, got: "):
        journal.read()
    journal.append("step", 1, {"loss": 2.0})
    with journal.path.open("ab") as file:
        file.write(b'{"kind": "st\n[]\n{"step": 2}\n{"kind": "step", "step": 3')
    assert journal.read() == [{"kind": "step", "step": 1, "loss": 2.0}]
