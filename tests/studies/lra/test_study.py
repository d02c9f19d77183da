import csv
import json
import math
from pathlib import Path

import pytest

from sumpool.bench.results import Row, to_csv, to_latex
from sumpool.core.attention.informer import InformerAttentionConfig
from sumpool.core.model.config import EncoderLayerConfig
from sumpool.errors import RecipeError
from sumpool.evaluation.statistics import Estimate
from sumpool.progress import Progress, no_op
from sumpool.settings import kinds
from sumpool.studies.config import LraConfig
from sumpool.studies.lra.study import attention_settings, make_row, published, read_run, row_names, study_lra
from sumpool.studies.run import run_study
from sumpool.studies.study import make_table, over_seeds
from tests.conftest import write_lines

COST = {"memory": 3 * 2**30, "parameters": 1000}


def row(name: str, mean: float) -> Row:
    run = {"seed": 1, "accuracy": Estimate(mean, mean - 0.1, mean + 0.1), "steps": 200, "converged": 150}
    return make_row(name, [Row({**run, "seconds": 0.6})], published("listops", name) | COST)


def test_a_row_has_the_columns_of_the_papers_and_is_exported() -> None:
    values = row("vanilla", 0.4).values
    assert (values["accuracy"], values["low"], values["high"]) == pytest.approx((40, 30, 50))
    assert (values["converged"], values["minutes"]) == (0.15, pytest.approx(10))
    assert (values["published_skeinformer"], values["published_skyformer"]) == (38.17, 38.37)
    assert published("pathfinder32", "vanilla") == {"published_skeinformer": 72.35, "published_skyformer": 65.26}
    assert published("pathx128", "vanilla") == published("listops", "linear")
    assert published("listops", "linear")["published_skyformer"] is None
    rows = [row("vanilla", 0.4), row("linear", 0.2)]
    table = make_table("lra", rows, {"task": "listops"})
    assert table.cells()[1][4:6] == ("-", "-")
    assert rows[1].to_json()["runs"][0]["accuracy"]["mean"] == 0.2
    title, *rest = to_csv([table]).splitlines()
    lines = list(csv.DictReader(rest))
    assert title == '"Long Range Arena, listops"'
    assert (lines[0]["attention"], lines[0]["accuracy %"], lines[1]["Skyformer"]) == ("vanilla", "40.0", "")
    assert r"vanilla & 40.00 & 30.00" in to_latex([table])


def test_seeds_have_an_interval_by_student() -> None:
    one = Estimate(0.5, 0.4, 0.6)
    assert over_seeds([one]) == one
    three = over_seeds([Estimate(mean, 0, 1) for mean in (0.4, 0.5, 0.6)])
    assert three.mean == pytest.approx(0.5)
    assert three.high - three.mean == pytest.approx(4.303 * 0.1 / 3**0.5)


def test_a_run_is_read_from_its_log(tmp_path: Path) -> None:
    records = [
        {"kind": "step", "step": 1, "seconds": 1.0},
        {"kind": "validation", "step": 1, "best": True},
        {"kind": "step", "step": 2, "seconds": 3.0},
        {"kind": "validation", "step": 2, "best": False},
    ]
    write_lines(tmp_path / "metrics.jsonl", records)
    accuracy = Estimate(0.5, 0.4, 0.6)
    assert read_run(tmp_path, 3, accuracy).values == {
        "seed": 3, "accuracy": accuracy, "steps": 2, "converged": 1, "seconds": 2.0
    }  # fmt: skip


def test_settings_of_attentions_are_valid_and_those_released() -> None:
    for name in row_names():
        layer = EncoderLayerConfig.model_validate({"attention": attention_settings(name, 2000)})
        assert layer.attention.max_length in (None, 2000)
    nystrom, linformer = (
        EncoderLayerConfig.model_validate({"attention": attention_settings(name, 64)}).attention.build(16, 2)
        for name in ("nystrom", "linformer")
    )
    assert nystrom.convolution is None
    assert linformer.project_keys.shape == (2, 128, 64)
    assert linformer.project_values is None
    # ceil(128 / ln n) * ceil(ln n): 17 * 8, 16 * 9, 19 * 7
    for length, queries in ((2000, 136), (4000, 144), (1024, 133)):
        informer = EncoderLayerConfig.model_validate({"attention": attention_settings("informer", length)}).attention
        assert isinstance(informer, InformerAttentionConfig)
        assert math.ceil(informer.factor * math.log(length)) == queries


SMALL = ["study.rows=[80,6,6]", "study.attentions=[vanilla,linear]", "train.batch_tokens=4000", "train.steps=2"]
SMALL += ["train.device=cpu", "data.workers=1", "model.dim=16", "model.feed_forward=16"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "lra" / "listops"


def test_attentions_are_trained_and_compared(folder: Path) -> None:
    result = run_study("lra", overrides=SMALL)
    assert result.suite == "lra"
    assert {row["attention"] for row in result.result.rows["attentions"]} == {"vanilla", "linear"}
    assert all((folder / name).is_file() for name in ("results.json", "results.csv", "results.tex"))
    assert (folder / "vanilla-seed1" / "evaluation" / "test" / "report.json").is_file()
    first = json.loads((folder / "results.json").read_text())
    assert [row["steps"] for row in first["attentions"]] == [2, 2]
    assert first["rows"]["train"] == 80
    tables = {table.title: table for table in result.tables()}
    table = tables["Long Range Arena, listops"]
    assert len(table.rows) == 2
    assert table.rows[0]["accuracy"] >= table.rows[1]["accuracy"], "the best first"
    assert "depth up to 10 (10)" in table.notes[-1]
    reports: list[Progress] = []
    again, before = study_lra(SMALL, reports.append, no_op).result, result.result
    assert any("is finished" in report.note for report in reports)
    assert [row["accuracy"] for row in again.rows["attentions"]] == [
        row["accuracy"] for row in before.rows["attentions"]
    ]


def test_wrong_settings_are_named_before_data_is_made(folder: Path) -> None:
    with pytest.raises(RecipeError, match=r"study\.attentions must be names of rows \(bigbird, .*, got flash"):
        study_lra(["study.attentions=[flash]"], no_op, no_op)
    with pytest.raises(RecipeError, match=r"study\.task must be"):
        study_lra(["study.task=chess"], no_op, no_op)
    assert not folder.exists()


@pytest.mark.usefixtures("folder")
def test_all_takes_every_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []

    def stop(config: LraConfig, *_: object) -> None:
        taken.extend(config.attentions)
        raise KeyboardInterrupt

    monkeypatch.setattr("sumpool.studies.lra.study.make_data", stop)
    with pytest.raises(KeyboardInterrupt):
        study_lra(["study.attentions=[all]"], no_op, no_op)
    assert {*kinds("sumpool.core.attention"), "skeinformer-uniform", "linformer-unreduced"} < {*taken}
