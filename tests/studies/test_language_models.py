import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

from sumpool.bench.results import Row, where
from sumpool.errors import RecipeError
from sumpool.evaluation.statistics import Estimate
from sumpool.progress import Progress, no_op
from sumpool.studies.config import LanguageModelsConfig, LanguageModelTable
from sumpool.studies.language_models import (
    PUBLISHED,
    difference_rows,
    difference_table,
    is_better,
    row_settings,
    study_grid,
    study_language_models,
    study_rows,
    study_table,
)
from sumpool.studies.run import run_study
from sumpool.tasks.language_modeling.measures import ScoredWindow, bits
from tests.test_recipes import RECIPES as ALL_RECIPES

RECIPES = ALL_RECIPES / "papers" / "language_models"


def names(study: LanguageModelTable, rows: tuple[str, ...] = ()) -> list[str]:
    return [row.name for row in study_grid(LanguageModelsConfig(table=study, rows=rows))]


def test_rows_are_chosen_by_name_and_replace_boundaries_and_middle_block() -> None:
    assert names("boundaries", ("whitespace", "vanilla")) == ["vanilla", "whitespace"]
    with pytest.raises(RecipeError, match=r"study\.rows must be rows of boundaries \(vanilla, .*\), got fixed-9"):
        names("boundaries", ("fixed-9",))
    grid = {row.name: row for row in study_grid(LanguageModelsConfig(table="pareto"))}
    assert row_settings(grid["vanilla"], (2, 8, 2), 900) == {
        "model.layers": [12], "model.boundaries": [], "train.loss_weights": {}, "data.subwords": 900
    }  # fmt: skip
    unigram = row_settings(grid["unigram-500"], (1, 3, 2), 900)
    assert unigram["model.layers"] == [1, 3, 2]
    assert unigram["model.boundaries"] == [{"kind": "unigram"}]
    assert unigram["data.subwords"] == 500
    assert row_settings(grid["gumbel-0.3"], (1, 3, 2), 900)["train.loss_weights"] == {"boundaries": 1.0}
    mean, last = study_grid(LanguageModelsConfig(table="pooling"))[2:4]
    assert row_settings(last, (2, 8, 2), 0) == row_settings(mean, (2, 8, 2), 0) | {"model.combine": "last"}
    deep = study_grid(LanguageModelsConfig(table="scaling", middle=(16,)))
    assert [row_settings(row, (2, 8, 2), 0)["model.layers"] for row in deep[:2]] == [[20], [2, 16, 2]]
    with pytest.raises(RecipeError, match=r"model\.layers must have three numbers, such as \[2, 8, 2\], got \[12\]"):
        row_settings(grid["vanilla"], (12,), 0)


def run(row: str, family: str, seed: int, bpc: float, text: str = "rfc") -> Row:
    nats = np.random.default_rng(0).normal(0, 0.1, 40) + np.random.default_rng(seed).normal(0, 0.001, 40)
    windows = [
        ScoredWindow(512 * place, 512, float(bpc + part) * 512 / bits(1), 128, {4: 128})
        for place, part in enumerate(nats)
    ]
    estimate = Estimate(bpc + 1e-4 * seed, bpc - 0.05, bpc + 0.05)
    about = {"row": row, "family": family, "text": text, "seed": seed, "bpc": estimate}
    costs = {"factor": 4.0, "layers": 12, "parameters": 1000, "steps": 50 * seed}
    return Row({**about, **costs, "windows": windows})


def runs(text: str = "rfc") -> list[Row]:
    bits_of = {"vanilla": 1.5, "fixed": 1.45, "whitespace": 1.4, "entropy": 1.6}
    return [run(name, name, seed, bpc, text) for name, bpc in bits_of.items() for seed in (1, 2, 3)]


def test_rows_are_means_over_seeds_and_columns_those_of_each_text() -> None:
    row = study_rows(runs())[0]
    assert row["bpc"] == pytest.approx(1.5 + 2e-4)
    assert row["high"] - row["bpc"] == pytest.approx(4.303 * 1e-4 / 3**0.5, rel=1e-3)
    assert (row["steps"], row["factor"], len(row["runs"])) == (100, 4.0, 3)
    assert row["runs"][2]["seed"] == 3
    both = runs() + runs("fi")
    table = study_table("Table 1", study_rows(both), difference_rows(both), ["notes"])
    assert [heading for heading in table.headings() if "BPC" in heading] == ["rfc BPC", "fi BPC"]
    cells = dict((row[0], row) for row in table.cells())
    assert cells["whitespace"][1:5] == ("1.4002", "0.0002", "*", "4.00")
    assert cells["entropy"][3] == ""
    assert table.notes[-1] == "notes"


def test_segments_are_compared_with_every_baseline() -> None:
    differences = difference_rows(runs())
    assert {(row["row"], row["other"]) for row in differences} == {
        (name, other) for name in ("whitespace", "entropy") for other in ("vanilla", "fixed")
    }
    better = where(differences, {"row": "whitespace", "other": "vanilla"})[0]
    assert better["difference"] == pytest.approx(-0.1, abs=1e-3)
    assert better["p_seeds"] < 1e-6
    assert better["p_windows"] < 0.01
    assert is_better(differences, "whitespace", "rfc")
    assert not is_better(differences, "entropy", "rfc")
    assert not is_better(differences, "vanilla", "rfc")
    assert difference_table(differences).cells()[0][1] == "whitespace - vanilla"
    # one seed is tested over windows
    of_one = difference_rows([run(name, name, 1, bpc) for name, bpc in (("vanilla", 1.5), ("entropy", 1.4))])
    assert of_one[0]["p_seeds"] is None
    assert is_better(of_one, "entropy", "rfc")
    assert difference_table(of_one).cells()[0][4] == "-"


def test_last_states_are_compared_with_means() -> None:
    """Table 2: each row with that of the same boundaries, and means with baselines of means."""
    bits_of = {"fixed-2": 1.45, "fixed-2-last": 1.48, "entropy": 1.44, "entropy-last": 1.46, "whitespace-last": 1.4}
    found = difference_rows(
        [run(name, name.split("-")[0], seed, bpc) for name, bpc in bits_of.items() for seed in (1, 2)]
    )
    assert [(row["row"], row["other"], round(row["difference"], 2)) for row in found] == [
        ("fixed-2-last", "fixed-2", 0.03),
        ("entropy", "fixed-2", -0.01),
        ("entropy-last", "entropy", 0.02),
    ]


def test_published_figures_stand_beside_rows_of_the_same_name() -> None:
    text8 = PUBLISHED["text8"]
    assert set(text8) == {*names("boundaries"), *names("pooling")}
    assert [text8[f"fixed-{size}"][1] for size in (2, 3, 4)] == [2, 3, 4]
    bits_of = {name: published[0] for name, published in text8.items()}
    assert sorted(bits_of, key=bits_of.__getitem__)[:2] == ["whitespace", "unigram-10000"]  # "the lowest BPC"
    table = study_table("Table 1", study_rows(runs()), difference_rows(runs()), [])
    place = table.headings().index("paper, text8")
    assert {cells[0]: cells[place : place + 2] for cells in table.cells()} == {
        "vanilla": ("1.143", "1.0"), "fixed": ("-", "-"), "whitespace": ("1.133", "5.7"), "entropy": ("1.138", "4.1")
    }  # fmt: skip
    # texts are named as the recipes, whose comments have the settings of their rows
    for name in PUBLISHED.keys() - {"text8"}:
        comments = (RECIPES / f"{name}.yaml").read_text()
        vocabulary, prior = (
            float(re.findall(rf"study\.{key}=([\d.]+)", comments)[0]) for key in ("vocabulary", "prior")
        )
        config = LanguageModelsConfig(vocabulary=int(vocabulary), prior=prior)
        assert set(PUBLISHED[name]) == {row.name for row in study_grid(config)}
    finnish = study_rows(runs("wiki40b-fi"))
    table = study_table("Table 1", finnish, [], [])
    place = table.headings().index("paper, wiki40b-fi")
    assert {cells[0]: cells[place] for cells in table.cells()}["whitespace"] == "0.955"


RECIPE = """\
name: letters
task: language_modeling
data: {source: {kind: plain, path: text.txt}}
model: {dim: 16, heads: 2, feed_forward: 32, layers: [1, 1, 1], boundaries: [{kind: whitespace}], length: 32}
train: {steps: 3, batch_tokens: 256, device: cpu}
evaluate: {window: 32, step: 16, resamples: 100}
"""
SMALL = ["study.recipe=letters.yaml", "study.seeds=[1,2]", "study.fixed=[2]", "study.vocabulary=100"]


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


def test_runs_are_shared_and_resumed() -> None:
    settings = [*SMALL, "study.seeds=[1]"]
    study_language_models([*settings, "study.rows=[vanilla,gumbel-0.2]"], no_op, no_op)
    reports: list[Progress] = []
    more = [*settings, "study.table=pareto", "study.rows=[gumbel-0.2,gumbel-0.25]"]
    study_language_models(more, reports.append, no_op)
    finished = [report.note for report in reports if "is finished" in report.note]
    assert finished == ["language-models/letters/gumbel-0.2-seed1 is finished"]
    saved = json.loads(Path("language-models/pareto.json").read_text())
    assert [row["row"] for row in saved["rows"]] == ["gumbel-0.2", "gumbel-0.25"]


def test_wrong_settings_are_named_before_anything_is_trained() -> None:
    with pytest.raises(RecipeError, match=r"study\.rows must be rows of boundaries"):
        study_language_models([*SMALL, "study.rows=[fixed-9]"], no_op, no_op)
    with pytest.raises(RecipeError, match=r"study\.texts must have different names, got text, text"):
        study_language_models([*SMALL, "study.texts=[text.txt,a/text.txt]"], no_op, no_op)
    with pytest.raises(RecipeError, match="must be a recipe of task: language_modeling, got task: summarization"):
        study_language_models(["study.recipe=quickstart"], no_op, no_op)
    assert not Path("language-models").exists()
