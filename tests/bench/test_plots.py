import struct
from pathlib import Path

import pytest

from sumpool.bench.measures import Timing
from sumpool.bench.models import model_result
from sumpool.bench.plots import draw, model_panels
from sumpool.bench.results import Row


def test_a_model_is_drawn_without_a_display(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.delenv("DISPLAY", raising=False)

    def row(workload: str, model: str, length: int, memory: int | None, *seconds: float) -> Row:
        values = {"workload": workload, "model": model, "length": length, "batch": 1, "memory": memory}
        return Row(values, Timing(seconds) if seconds else None)

    rows = [row("encode", model, length, 2**20, 1.0) for model in "abcdefgh" for length in (512, 1024, 2048)]
    rows += [row("train", "model", 512, None, 1.0), row("train", "model", 1024, None), row("train", "b", 1024, 5, 1.0)]
    path = tmp_path / "picture.png"
    draw([*model_panels(model_result(rows, (), 2, 2), {"batch": 1})], path, rows=2)
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    assert min(struct.unpack(">II", head[16:])) > 400
