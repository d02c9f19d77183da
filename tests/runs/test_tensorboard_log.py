from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sumpool.errors import RecipeError
from sumpool.runs.curves import TensorboardLog, require_tensorboard

RECORDS: list[dict[str, Any]] = [
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
        log.write(RECORDS[:2])
        log.write(RECORDS)
    expected = {
        "train/nats": [(1, 3.0), (2, 2.5)],
        "train/learning_rate": [(1, 0.001), (2, 0.002)],
        "validation/nats": [(2, 2.0)],
        "validation/rouge1": [(2, 30.0)],
        "validation/best": [(2, 1.0)],
    }
    assert scalars(tmp_path) == expected
    with closing(TensorboardLog(tmp_path)) as log:
        log.write(RECORDS[:2])
    assert scalars(tmp_path) == {tag: values for tag, values in expected.items() if tag.startswith("train")}


def test_files_behind_a_link_stay(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "events.out.tfevents.1.mine.0").touch()
    (tmp_path / "tensorboard").symlink_to(elsewhere)
    with closing(TensorboardLog(tmp_path)):
        assert (elsewhere / "events.out.tfevents.1.mine.0").exists()


def test_missing_tensorboard_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    require_tensorboard()
    monkeypatch.setattr("sumpool.runs.curves.find_spec", lambda _: None)
    with pytest.raises(RecipeError, match=r"but tensorboard is not: pip install 'sumpool\[tensorboard\]'"):
        require_tensorboard()
