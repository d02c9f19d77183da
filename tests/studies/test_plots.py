import struct
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from sumpool.bench.measures import Timing
from sumpool.bench.results import BenchReport, Result, Row, make_report
from sumpool.bench.workload import Conditions
from sumpool.core.model.config import ModelConfig
from sumpool.errors import RecipeError
from sumpool.settings import Settings
from sumpool.studies import plots
from sumpool.studies.approximation import measure_approximations
from sumpool.studies.config import (
    ApproximationConfig,
    DepthConfig,
    OperatorsConfig,
    ShorteningConfig,
    SparsityConfig,
)
from sumpool.studies.depth import MODELS, depth_result
from sumpool.studies.operators import measure_operators
from sumpool.studies.plots import draw, require_panels
from sumpool.studies.shortening import shortening_result
from sumpool.studies.sparsity import measure_sparsity

CONDITIONS = Conditions(vocabulary=8, device=torch.device("cpu"), precision=torch.float32)


def report(suite: str, settings: Settings, result: Result) -> BenchReport:
    return make_report("", suite, CONDITIONS, {"study": settings.model_dump()}, result)


def operators() -> BenchReport:
    settings = OperatorsConfig(lengths=(4, 8), batch=1, repeats=1)
    return report("operators", settings, measure_operators(settings, CONDITIONS))


def shortening() -> BenchReport:
    rows = [
        Row({"factor": 1, "memory": 100}, Timing((2.0,))),
        Row({"factor": 2, "memory": 50}, Timing((1.0,))),
        Row({"factor": 4}, note="none"),
    ]
    settings = ShorteningConfig()
    return report("shortening", settings, shortening_result(rows, settings))


def depth(lengths: tuple[int, ...] = (64, 128, 256)) -> BenchReport:
    sizes = [(length, layers, model) for length in lengths for layers in (2, 4) for model in MODELS]
    rows = [Row(dict(zip(("length", "layers", "model"), size, strict=True)), Timing((1.0,))) for size in sizes]
    settings = DepthConfig()
    return report("depth", settings, depth_result(rows, settings))


def depth_of_five_lengths() -> BenchReport:
    return depth((64, 128, 256, 512, 1024))


def approximation() -> BenchReport:
    settings = ApproximationConfig(lengths=(8, 16), features=(4, 8, 16), repeats=1, head_dim=4)
    return report("approximation", settings, measure_approximations(settings, CONDITIONS))


def nothing() -> BenchReport:
    settings = ShorteningConfig()
    return report("shortening", settings, shortening_result([Row({"factor": 1}, note="none")], settings))


def sparsity() -> BenchReport:
    sizes = {"dim": 16, "heads": 2, "feed_forward": 16, "decoder": {"layers": 2}}
    model = ModelConfig.model_validate({**sizes, "encoder": [{"attention": {"kind": "vanilla"}}]})
    settings = SparsityConfig(documents=1, length=8, targets=(1, 2, 3), surface_lengths=(4, 6, 8), repeats=1)
    losses = [Row({"selection": "full", "nats": {1: 2.0}})]
    result = measure_sparsity([[torch.full((3, 7), 1 / 7)] * 2], losses, model, settings, CONDITIONS)
    return report("sparsity", settings, result)


@pytest.mark.parametrize(
    "measured",
    [operators, depth, depth_of_five_lengths, shortening, sparsity, approximation, nothing],
)
def test_a_picture_is_drawn_without_a_display(
    measured: Callable[[], BenchReport], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
        require_panels("operators", tmp_path / "x.png")


@pytest.mark.parametrize(
    ("suite", "name", "message"),
    [
        (
            "complexity",
            "x.png",
            "--plot must go with .* shortening, sparsity, approximation, got complexity",
        ),
        ("operators", "x.pdf", r"--plot must name a \.png file, got .*x\.pdf"),
        ("operators", "nowhere/x.png", "--plot must name a file in a folder that is there"),
    ],
)
def test_what_cannot_be_drawn_is_refused(suite: str, name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=message):
        require_panels(suite, tmp_path / name)
