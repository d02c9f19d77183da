import errno
from pathlib import Path
from typing import Any

import pytest

from sumpool.errors import ResourceError
from sumpool.runs.curves import draw_curves

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
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr("sumpool.runs.curves.replace_file", fail)
    with pytest.raises(ResourceError, match=r"curves\.png must be written completely"):
        draw_curves(tmp_path, RECORDS)
