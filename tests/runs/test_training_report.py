import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from sumpool.data.sources._base import Example
from sumpool.progress import Progress
from sumpool.runs.training_report import GeneratedSummary, TrainingReport, examine
from sumpool.training.config import TrainConfig
from sumpool.training.journal import Journal


class Generator:
    """Generator of fixed summaries for three documents."""

    def __init__(self, text: str) -> None:
        examples = [Example(f"d{number}", "A router sends.", "Sends.", "validation") for number in range(3)]
        self.summaries: list[GeneratedSummary] = [examine(example, text) for example in examples]

    def __call__(self) -> Mapping[str, float]:
        return {"rouge1": 30.0}


def report(run: Path, text: str, *steps: int, config: TrainConfig | None = None) -> list[str]:
    """Notes of a process that validates after the steps."""
    notes: list[Progress] = []
    observer = TrainingReport(run, config or TrainConfig(), Generator(text), notes.append)
    with closing(observer):
        for step in steps:
            Journal(run / "metrics.jsonl").append("validation", step, {"nats": 2.0, **observer.score()})
            observer.record(step)
    return [note.note for note in notes]


def samples(run: Path) -> list[tuple[int, str]]:
    records = map(json.loads, (run / "samples.jsonl").read_text().splitlines())
    return [(record["step"], record["id"]) for record in records]


def test_the_same_two_samples_are_kept_at_every_validation(tmp_path: Path) -> None:
    notes = report(tmp_path, "A router\n sends.", 5, 10)
    assert notes == ["sample d0: A router sends.", "sample d1: A router sends."] * 2
    assert samples(tmp_path) == [(5, "d0"), (5, "d1"), (10, "d0"), (10, "d1")]
    assert {path.name for path in tmp_path.iterdir()} >= {"curves.png", "curves.svg", "samples.jsonl"}


@pytest.mark.slow
def test_samples_of_repeated_steps_are_replaced(tmp_path: Path) -> None:
    report(tmp_path, "A router sends.", 5, 10, 15)
    report(tmp_path, "A router sends.", 10)  # killed, and resumed from step 10
    assert samples(tmp_path) == [(5, "d0"), (5, "d1"), (10, "d0"), (10, "d1")]


@pytest.mark.slow
def test_alarms_and_long_samples_are_notes(tmp_path: Path) -> None:
    first, second, alarm = report(tmp_path, "one two three " * 40, 5)
    assert len(first) < 330
    assert first.endswith("...")
    assert second.startswith("sample d1")
    assert alarm.startswith("warning: 3 of 3 generated summaries repeat themselves")
    assert report(tmp_path, " ", 10)[0] == "sample d0: (empty)"


def test_missing_matplotlib_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sumpool.runs.training_report.find_spec", lambda _: None)
    notes = report(tmp_path, "A router sends.", 5, 10)
    assert [note for note in notes if "sample" not in note] == [
        "the curves of the training are not drawn: pip install 'sumpool[plots]'"
    ]
    assert not (tmp_path / "curves.svg").exists()


def test_tensorboard_is_written_if_asked_for(tmp_path: Path) -> None:
    config = TrainConfig(log=("tensorboard",))
    report(tmp_path, "A router sends.", 5, config=config)
    assert len(list((tmp_path / "tensorboard").iterdir())) == 1


def test_without_a_generator_there_are_no_scores(tmp_path: Path) -> None:
    Journal(tmp_path / "metrics.jsonl").append("validation", 5, {"nats": 2.0})
    observer = TrainingReport(tmp_path, TrainConfig(), None, lambda _: None)
    assert observer.score() == {}
    observer.record(5)
    assert not (tmp_path / "samples.jsonl").exists()
    assert (tmp_path / "curves.svg").exists()
