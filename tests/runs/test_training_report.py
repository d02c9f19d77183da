import errno
import json
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from sumpool.data.config import Example
from sumpool.errors import ResourceError
from sumpool.progress import Progress
from sumpool.runs.training_report import TensorboardLog, TrainingReport, alarms, draw_curves, examine
from sumpool.training.config import TrainConfig
from sumpool.training.journal import Journal


def report(run: Path, text: str, *steps: int, config: TrainConfig | None = None) -> list[str]:
    """Notes of a process that validates after the steps and writes a text for each of three documents."""
    notes: list[Progress] = []
    examples = [Example(f"d{number}", "A router sends.", "Sends.", "validation") for number in range(3)]
    generated = {"rouge1": 30.0}, [examine(example, text) for example in examples]
    with closing(TrainingReport(run, config or TrainConfig(), lambda: generated, notes.append)) as observer:
        for step in steps:
            Journal(run / "metrics.jsonl").append("validation", step, {"nats": 2.0, **observer.score()})
            observer.record(step)
    return [note.note for note in notes]


def samples(run: Path) -> list[tuple[int, str]]:
    records = map(json.loads, (run / "samples.jsonl").read_text().splitlines())
    return [(record["step"], record["id"]) for record in records]


def test_the_same_two_samples_are_kept_at_every_validation(tmp_path: Path) -> None:
    notes = report(tmp_path, "A router\n sends.", 5, 10, config=TrainConfig(log=("tensorboard",)))
    assert notes == ["sample d0: A router sends.", "sample d1: A router sends."] * 2
    assert samples(tmp_path) == [(5, "d0"), (5, "d1"), (10, "d0"), (10, "d1")]
    assert {path.name for path in tmp_path.iterdir()} >= {"curves.png", "curves.svg", "samples.jsonl"}
    assert len(list((tmp_path / "tensorboard").iterdir())) == 1


@pytest.fixture
def no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sumpool.runs.training_report.find_spec", lambda _: None)


@pytest.mark.usefixtures("no_matplotlib")
def test_alarms_and_long_samples_are_notes(tmp_path: Path) -> None:
    notes = report(tmp_path, "one two three " * 40, 5)
    assert len(notes[0]) < 330
    assert notes[0].endswith("...")
    assert notes[1].startswith("sample d1")
    assert any(note.startswith("warning: 3 of 3 generated summaries repeat themselves") for note in notes)
    assert report(tmp_path, " ", 10)[0] == "sample d0: (empty)"
    assert not (tmp_path / "tensorboard").exists()


@pytest.mark.usefixtures("no_matplotlib")
def test_samples_of_repeated_steps_are_replaced_and_missing_matplotlib_is_told_once(tmp_path: Path) -> None:
    notes = report(tmp_path, "A router sends.", 5, 10, 15)
    assert [note for note in notes if "sample" not in note] == [
        "the curves of the training are not drawn: pip install 'sumpool[plots]'"
    ]
    report(tmp_path, "A router sends.", 10)  # killed, and resumed from step 10
    assert samples(tmp_path) == [(5, "d0"), (5, "d1"), (10, "d0"), (10, "d1")]
    assert not (tmp_path / "curves.svg").exists()


def test_without_a_generator_there_are_no_scores(tmp_path: Path) -> None:
    Journal(tmp_path / "metrics.jsonl").append("validation", 5, {"nats": 2.0})
    observer = TrainingReport(tmp_path, TrainConfig(), None, lambda _: None)
    assert observer.score() == {}
    observer.record(5)
    assert not (tmp_path / "samples.jsonl").exists()
    assert (tmp_path / "curves.svg").exists()


DOCUMENT = "One two three four five six seven eight nine ten eleven twelve. Thirteen fourteen fifteen."
PASSAGE = "two three four five six seven eight nine ten eleven twelve"
REFERENCE = "The numbers one to fifteen in a row of words, written out in full."


def faults(summary: str, reference: str = REFERENCE) -> list[str]:
    return examine(Example("d1", DOCUMENT, reference, "validation"), summary).faults


def test_faults_of_summaries() -> None:
    assert faults("This document counts one two three and so on up to fifteen, in words.") == []
    assert faults("two three four") == []  # too short to be told from chance
    assert faults(" \n") == ["are empty"]
    repeated = "repeat themselves: more than 20% of their trigrams occur twice"
    assert faults("the one is the one is the one is the one is") == [repeated]
    assert faults(PASSAGE) == ["are one passage of the document, copied whole, unlike the references"]
    assert faults(PASSAGE, reference=PASSAGE) == []  # what the model is to learn
    assert faults(f"{PASSAGE} is how it begins and goes on") == []


def test_records_of_summaries_and_alarms_of_half_of_them() -> None:
    example = Example("d1", DOCUMENT, REFERENCE, "validation")
    bad, good = examine(example, ""), examine(example, "Numbers in words.")
    assert list(alarms([bad, good])) == ["warning: 1 of 2 generated summaries are empty"]
    assert list(alarms([bad, good, good])) == []
    assert list(alarms([])) == []
    record = examine(example, PASSAGE).to_record()
    assert record == {"id": "d1", "summary": PASSAGE, "repeated": 0.0, "copied": 1.0, "novel_bigrams": 0.0}


RECORDS: list[dict[str, Any]] = [
    *({"kind": "step", "step": step, "nats": 10 / step} for step in range(1, 1001)),
    {"kind": "validation", "step": 500, "nats": 1.0, "rouge1": 30.0, "rouge2": 10.0, "rougeLsum": 25.0, "best": True},
    {"kind": "validation", "step": 1000, "nats": 0.5, "rouge1": 35.0, "rouge2": 12.0, "rougeLsum": 27.0, "best": True},
]


def test_curves_are_drawn_alike_twice(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        draw_curves(tmp_path / name, RECORDS)
    assert (tmp_path / "one" / "curves.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "one" / "curves.svg").read_text()
    for label in ("training", "validation", "best weights", "loss, nats per token", "ROUGE-1", "ROUGE-Lsum", "updates"):
        assert label in svg
    assert svg == (tmp_path / "two" / "curves.svg").read_text()
    assert len(svg) < 60_000


def test_curves_without_scores_and_without_validations(tmp_path: Path) -> None:
    draw_curves(tmp_path, [record for record in RECORDS if record["kind"] == "step"])
    svg = (tmp_path / "curves.svg").read_text()
    assert "ROUGE" not in svg
    assert "validation" not in svg
    draw_curves(tmp_path, [{"kind": "validation", "step": 0, "nats": 1.0, "best": True}])
    assert "training" not in (tmp_path / "curves.svg").read_text()


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail = Mock(side_effect=OSError(errno.ENOSPC, "no space left"))
    monkeypatch.setattr("sumpool.runs.training_report.replace_file", fail)
    with pytest.raises(ResourceError, match=r"curves\.png must be written completely"):
        draw_curves(tmp_path, RECORDS)


EVENTS: list[dict[str, Any]] = [
    {"kind": "step", "step": 1, "nats": 3.0, "learning_rate": 0.001},
    {"kind": "step", "step": 2, "nats": 2.5, "learning_rate": 0.002},
    {"kind": "validation", "step": 2, "nats": 2.0, "rouge1": 30.0, "best": True},
    {"kind": "stopped", "step": 3, "nats": "nan", "documents": ["d1"]},
]


def scalars(run: Path) -> dict[str, list[tuple[int, float]]]:
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    accumulator = loader.EventAccumulator(str(run / "tensorboard"))
    accumulator.Reload()
    return {
        tag: [(event.step, round(event.value, 6)) for event in accumulator.Scalars(tag)]
        for tag in accumulator.Tags()["scalars"]
    }


def test_records_are_written_once_and_anew_by_another_process(tmp_path: Path) -> None:
    with closing(TensorboardLog(tmp_path)) as log:
        log.write(EVENTS[:2])
        log.write(EVENTS)
    expected = {
        "train/nats": [(1, 3.0), (2, 2.5)],
        "train/learning_rate": [(1, 0.001), (2, 0.002)],
        "validation/nats": [(2, 2.0)],
        "validation/rouge1": [(2, 30.0)],
        "validation/best": [(2, 1.0)],
    }
    assert scalars(tmp_path) == expected
    with closing(TensorboardLog(tmp_path)) as log:
        log.write(EVENTS[:2])
    assert scalars(tmp_path) == {tag: values for tag, values in expected.items() if tag.startswith("train")}


def test_files_behind_a_link_stay(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "events.out.tfevents.1.mine.0").touch()
    (tmp_path / "tensorboard").symlink_to(elsewhere)
    with closing(TensorboardLog(tmp_path)):
        assert (elsewhere / "events.out.tfevents.1.mine.0").exists()
