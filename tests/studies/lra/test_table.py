import csv
import json
from pathlib import Path

import pytest

from sumpool.bench.results import Row, export_result
from sumpool.core.model.config import EncoderLayerConfig
from sumpool.errors import RecipeError
from sumpool.evaluation.statistics import Estimate
from sumpool.studies.lra.table import (
    ATTENTIONS,
    LraRun,
    accumulation,
    attention_settings,
    draw_lra,
    make_lra_table,
    make_row,
    over_seeds,
    published,
    read_run,
)

COST = {"peak_memory": 3 * 2**30, "parameters": 1000}


def row(name: str, mean: float) -> Row:
    run = LraRun(1, Estimate(mean, mean - 0.1, mean + 0.1), 200, 150, 0.6)
    return make_row(name, [run], published("listops", name), COST, 2**30)


def test_a_row_has_the_columns_of_the_papers() -> None:
    values = row("vanilla", 0.4).values
    assert (values["accuracy"], values["low"], values["high"]) == pytest.approx((40, 30, 50))
    assert (values["converged"], values["minutes"], values["accumulation"]) == (0.15, pytest.approx(10), 4)
    assert (values["published_skeinformer"], values["published_skyformer"]) == (38.15, 38.37)
    assert published("pathx128", "vanilla") == published("listops", "linear")


def test_accumulation_is_a_power_of_two() -> None:
    for peak, parts in ((1, 1), (10, 1), (11, 2), (21, 4), (80, 8)):
        assert accumulation(peak, 10) == parts


def test_seeds_have_an_interval_by_student() -> None:
    one = Estimate(0.5, 0.4, 0.6)
    assert over_seeds([one]) == one
    three = over_seeds([Estimate(mean, 0, 1) for mean in (0.4, 0.5, 0.6)])
    assert three.mean == pytest.approx(0.5)
    assert three.high - three.mean == pytest.approx(4.303 * 0.1 / 3**0.5)


def test_tables_are_exported_best_first(tmp_path: Path) -> None:
    rows = [row("linear", 0.2), row("vanilla", 0.4)]
    table = make_lra_table("listops", rows, 16, ["a note"])
    assert [cells[0] for cells in table.cells()] == ["vanilla", "linear"]
    assert table.cells()[1][4:6] == ("-", "-")
    export_result(tmp_path / "results", {"settings": {}}, {"rows": rows}, [table])
    content = json.loads((tmp_path / "results.json").read_text())
    assert content["rows"][0]["runs"][0]["accuracy"]["mean"] == 0.2
    title, *rest = (tmp_path / "results.csv").read_text().splitlines()
    lines = list(csv.DictReader(rest))
    assert title == '"Long Range Arena, listops"'
    assert (lines[0]["attention"], lines[0]["accuracy %"], lines[1]["Skyformer"]) == ("vanilla", "40.0", "")
    assert r"vanilla & 40.00 & 30.00" in (tmp_path / "results.tex").read_text()


def test_a_run_is_read_from_its_log(tmp_path: Path) -> None:
    records = [
        {"kind": "step", "step": 1, "seconds": 1.0},
        {"kind": "validation", "step": 1, "best": True},
        {"kind": "step", "step": 2, "seconds": 3.0},
        {"kind": "validation", "step": 2, "best": False},
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    accuracy = Estimate(0.5, 0.4, 0.6)
    assert read_run(tmp_path, 3, accuracy) == LraRun(3, accuracy, 2, 1, 2.0)


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw_lra("listops", [row("linear", 0.2), row("vanilla", 0.4)], tmp_path / "results.png")
    assert (tmp_path / "results.png").read_bytes().startswith(b"\x89PNG")


def test_settings_of_attentions_are_valid() -> None:
    for kind in (*ATTENTIONS, "vanilla", "synthesizer"):
        layer = EncoderLayerConfig.model_validate({"attention": attention_settings(kind, 2000)})
        assert layer.attention.max_length in (None, 2000)


def test_an_unknown_attention_is_named() -> None:
    with pytest.raises(RecipeError, match=r"study.attentions must be names of attentions \(bigbird, .*, got flash"):
        attention_settings("flash", 100)
