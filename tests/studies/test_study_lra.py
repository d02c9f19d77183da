import json
from pathlib import Path

import pytest

from sumpool.errors import RecipeError
from sumpool.progress import Progress, no_op
from sumpool.settings import kinds
from sumpool.studies.config import LraConfig
from sumpool.studies.lra.study import study_lra
from sumpool.studies.run import run_study

pytestmark = pytest.mark.slow

SMALL = [
    "study.rows=[80,6,6]",
    "study.attentions=[vanilla,linear]",
    "train.batch_tokens=4000",
    "train.steps=2",
    "train.device=cpu",
    "data.workers=1",
    "model.dim=16",
    "model.feed_forward=16",
]


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
    assert [row["steps"] for row in first["rows"]] == [2, 2]
    assert first["statistics"]["train"]["rows"] == 80
    tables = {table.title: table for table in result.tables()}
    assert len(tables["Long Range Arena, listops"].rows) == 2
    assert ("depth", "mean 10, max 10", "10") in [cells[:3] for cells in tables["training rows"].cells()]
    reports: list[Progress] = []
    again = study_lra(SMALL, reports.append, no_op)
    assert any("is finished" in report.note for report in reports)
    accuracies = [row["accuracy"] for row in again.result.rows["attentions"]]
    assert accuracies == [row["accuracy"] for row in result.result.rows["attentions"]]


def test_updates_follow_from_the_time_and_seeds_are_runs(folder: Path) -> None:
    settings = [
        *SMALL,
        "study.attentions=[linear]",
        "study.minutes=0.002",
        "study.seeds=[1,2]",
        "study.lengths=[10,40]",
    ]
    report = study_lra(settings, no_op, no_op)
    (row,) = report.result.rows["attentions"]
    assert [run["seed"] for run in row["runs"]] == [1, 2]
    steps = [run["steps"] for run in row["runs"]]
    assert all(1 <= count < 60 for count in steps)
    assert (folder / "linear-seed2").is_dir()
    again = study_lra(settings, no_op, no_op)  # another speed leaves the updates of a run as they are
    assert [run["steps"] for run in again.result.rows["attentions"][0]["runs"]] == steps


def test_wrong_settings_are_named_before_data_is_made(folder: Path) -> None:
    with pytest.raises(RecipeError, match=r"study\.attentions must be names of attentions"):
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
    assert taken == kinds("sumpool.core.attention")
