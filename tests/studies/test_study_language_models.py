import json
import random
from pathlib import Path

import pytest

from sumpool.errors import RecipeError
from sumpool.progress import Progress, no_op
from sumpool.studies.language_models.study import study_language_models
from sumpool.studies.run import run_study
from sumpool.studies.training_time import TIMES

pytestmark = pytest.mark.slow

RECIPE = """\
name: letters
task: language_modeling
data: {source: {kind: plain, path: text.txt}}
model: {dim: 16, heads: 2, feed_forward: 32, layers: [1, 1, 1], boundaries: [{kind: whitespace}], length: 32}
train: {steps: 3, batch_tokens: 256, device: cpu}
evaluate: {window: 32, step: 16, resamples: 100}
"""
SMALL = [
    "study.recipe=letters.yaml",
    "study.seeds=[1,2]",
    "study.fixed=[2]",
    "study.vocabulary=100",
    "study.trial=2",
]


@pytest.fixture(autouse=True)
def corner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    draw = random.Random(1)
    for name, words in (("text", ["the", "old", "fox", "sleeps"]), ("suomi", ["vanha", "kettu", "nukkuu"])):
        Path(f"{name}.txt").write_text(" ".join(draw.choice(words) for _ in range(1500)))
    Path("letters.yaml").write_text(RECIPE)
    return tmp_path


def test_table_1_has_a_row_for_each_boundary_and_a_column_for_each_text() -> None:
    rows = "study.rows=[vanilla,fixed-2,whitespace]"
    report = run_study("language-models", overrides=[*SMALL, rows, "study.texts=[text.txt,suomi.txt]"])
    folder = Path("language-models")
    assert all((folder / f"boundaries{suffix}").is_file() for suffix in (".json", ".csv", ".tex"))
    saved = json.loads((folder / "boundaries.json").read_text())
    assert {(row["text"], row["row"]) for row in saved["rows"]} == {
        (text, row) for text in ("text", "suomi") for row in ("vanilla", "fixed-2", "whitespace")
    }
    assert all(len(row["runs"]) == 2 for row in saved["rows"])
    assert {(row["row"], row["other"]) for row in saved["differences"]} == {
        ("whitespace", other) for other in ("vanilla", "fixed-2")
    }
    factors = {row["row"]: row["factor"] for row in saved["rows"] if row["text"] == "text"}
    assert factors["vanilla"] == 1
    assert factors["fixed-2"] == pytest.approx(2, abs=0.1)
    assert 4 < factors["whitespace"] < 6
    table = report.tables()[1]
    assert [heading for heading in table.headings() if "BPC" in heading] == ["text BPC", "suomi BPC"]
    assert (folder / "text" / "vanilla-seed1" / "evaluation" / "test" / "report.json").is_file()
    assert len(json.loads((folder / "suomi" / TIMES).read_text())) == 6


def test_runs_are_shared_and_resumed() -> None:
    settings = [*SMALL, "study.seeds=[1]"]
    study_language_models([*settings, "study.rows=[vanilla,gumbel-0.2]"], no_op, no_op)
    reports: list[Progress] = []
    study_language_models(
        [*settings, "study.table=pareto", "study.rows=[gumbel-0.2,gumbel-0.25]"], reports.append, no_op
    )
    finished = [report.note for report in reports if "is finished" in report.note]
    assert finished == ["language-models/letters/gumbel-0.2-seed1 is finished; nothing is left to do"]
    assert [row["row"] for row in json.loads(Path("language-models/pareto.json").read_text())["rows"]] == [
        "gumbel-0.2",
        "gumbel-0.25",
    ]


def test_a_stopped_study_goes_on() -> None:
    settings = [*SMALL, "study.rows=[vanilla]"]
    calls: list[int] = []

    def stop() -> None:
        calls.append(1)
        if len(calls) > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study_language_models(settings, no_op, stop)
    report = study_language_models(settings, no_op, no_op)
    assert [run["seed"] for run in report.result.rows["rows"][0]["runs"]] == [1, 2]


def test_a_budget_gives_every_row_its_updates() -> None:
    rows = "study.rows=[vanilla-2,fixed-2-2]"
    settings = [*SMALL, "study.seeds=[1]", "study.minutes=0.004", rows, "study.table=scaling", "study.middle=[2]"]
    report = study_language_models(settings, no_op, no_op)
    measured = report.result.rows["rows"]
    assert [row["layers"] for row in measured] == [4, 4]
    assert all(run["steps"] == row["runs"][0]["steps"] > 3 for row in measured for run in row["runs"])
    assert all(0.1 < row["seconds"] < 10 for row in measured)
    again = study_language_models(settings, no_op, no_op)
    assert [row["steps"] for row in again.result.rows["rows"]] == [row["steps"] for row in measured]


def test_wrong_settings_are_named_before_anything_is_trained() -> None:
    with pytest.raises(RecipeError, match=r"study\.rows must be rows of boundaries"):
        study_language_models([*SMALL, "study.rows=[fixed-9]"], no_op, no_op)
    with pytest.raises(RecipeError, match=r"study\.texts must have different names, got text, text"):
        study_language_models([*SMALL, "study.texts=[text.txt,a/text.txt]"], no_op, no_op)
    with pytest.raises(RecipeError, match="must be a recipe of task: language_modeling, got task: summarization"):
        study_language_models(["study.recipe=quickstart"], no_op, no_op)
    assert not Path("language-models").exists()
