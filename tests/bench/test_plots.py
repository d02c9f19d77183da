import struct
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from sumpool.bench import plots
from sumpool.bench.config import OperatorsConfig, SelectionConfig, SparsityConfig
from sumpool.bench.measures.timing import Timing
from sumpool.bench.models.found import FoundModels
from sumpool.bench.models.plot import APART, spread
from sumpool.bench.models.rows import ModelRow
from sumpool.bench.plots import draw, require_plots
from sumpool.bench.results.result import Found
from sumpool.bench.suites.operators import measure_operators
from sumpool.bench.suites.selection import measure_selection
from sumpool.bench.suites.shortening import FoundShortening, ShorteningRow
from sumpool.bench.suites.sparsity import measure_sparsity
from sumpool.bench.suites.sparsity_rows import LossRow
from sumpool.bench.systems.workload import Conditions
from sumpool.core.model.config import ModelConfig
from sumpool.errors import RecipeError


def operators() -> Found:
    conditions = Conditions(vocabulary=8, device=torch.device("cpu"), precision=torch.float32)
    return measure_operators(OperatorsConfig(lengths=(8, 16), batch=1, repeats=1), conditions)


def shortening() -> Found:
    rows = (ShorteningRow(1, Timing((2.0,)), 100), ShorteningRow(2, Timing((1.0,)), 50), ShorteningRow(4, note="none"))
    return FoundShortening(rows, "")


def selection() -> Found:
    conditions = Conditions(vocabulary=8, device=torch.device("cpu"), precision=torch.float32)
    sizes = {"dim": 16, "heads": 2, "feed_forward": 16, "layers": 1, "generate": 2, "repeats": 1, "batch": 1}
    settings = SelectionConfig.model_validate({"lengths": [32, 64], "sentence": 4, "sentences": [2, 3], **sizes})
    return measure_selection(settings, conditions)


def sparsity() -> Found:
    conditions = Conditions(vocabulary=8, device=torch.device("cpu"), precision=torch.float32)
    sizes = {"dim": 16, "heads": 2, "feed_forward": 16, "decoder": {"layers": 2}}
    model = ModelConfig.model_validate({**sizes, "encoder": [{"attention": {"kind": "vanilla"}}]})
    settings = SparsityConfig(documents=1, length=8, targets=(1, 2, 3), surface_lengths=(4, 6, 8), repeats=1)
    return measure_sparsity([[torch.full((3, 7), 1 / 7)] * 2], [LossRow("full", {1: 2.0})], model, settings, conditions)


def models() -> Found:
    timing = Timing((1.0,))
    rows = [ModelRow("encode", model, length, 1, timing, 2**20) for model in "abcdefgh" for length in (512, 1024, 2048)]
    rows += [ModelRow("train", "model", 512, 1, timing), ModelRow("train", "model", 1024, 1, note="memory ended")]
    return FoundModels((*rows, ModelRow("train", "b", 1024, 1, timing, 5)), (), generate=2, beams=2)


def test_names_at_the_ends_of_lines_stand_apart() -> None:
    assert spread({"a": 0.5, "b": 0.2}) == {"a": 0.5, "b": 0.2}
    together = spread({"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.9})
    assert [together[name] for name in "abcd"] == pytest.approx([0.5 - APART, 0.5, 0.5 + APART, 0.9])
    pushed = spread({"a": 0.5, "b": 0.5, "c": 0.5 + 1.2 * APART})  # it is in the way of the others
    assert pushed["c"] - pushed["b"] == pytest.approx(APART)


def nothing() -> Found:
    return FoundShortening((ShorteningRow(1, note="none"),), "")


@pytest.mark.parametrize("measured", [operators, shortening, selection, sparsity, models, nothing])
def test_a_picture_is_drawn_without_a_display(
    measured: Callable[[], Found], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.delenv("DISPLAY", raising=False)
    path = tmp_path / "picture.png"
    draw(measured(), path)
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    assert min(struct.unpack(">II", head[16:])) > 400


def test_matplotlib_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "find_spec", Mock(return_value=None))
    with pytest.raises(RecipeError, match=r"matplotlib, which is not installed: pip install 'sumpool\[plots\]'"):
        require_plots("operators", tmp_path / "x.png")


@pytest.mark.parametrize(
    ("suite", "name", "message"),
    [
        (
            "complexity",
            "x.png",
            "--plot must go with one of a model, operators, shortening, selection, sparsity, got complexity",
        ),
        ("operators", "x.pdf", r"--plot must name a \.png file, got .*x\.pdf"),
        ("operators", "nowhere/x.png", "--plot must name a file in a folder that is there"),
    ],
)
def test_what_cannot_be_drawn_is_refused(suite: str, name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=message):
        require_plots(suite, tmp_path / name)
