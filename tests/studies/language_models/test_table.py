import numpy as np
import pytest

from sumpool.bench.results import where
from sumpool.evaluation.statistics import Estimate
from sumpool.studies.language_models.table import (
    StudyRun,
    difference_rows,
    difference_table,
    is_better,
    study_rows,
    study_table,
)
from sumpool.tasks.language_modeling.measures import ScoredWindow, bits


def run(row: str, family: str, seed: int, bpc: float, text: str = "rfc") -> StudyRun:
    nats = np.random.default_rng(0).normal(0, 0.1, 40) + np.random.default_rng(seed).normal(0, 0.001, 40)
    windows = [
        ScoredWindow(512 * place, 512, float(bpc + part) * 512 / bits(1), 512, 512, 80, 128, {4: 128})
        for place, part in enumerate(nats)
    ]
    estimate = Estimate(bpc + 1e-4 * seed, bpc - 0.05, bpc + 0.05)
    return StudyRun(row, family, family, text, seed, estimate, 4.0, 12, 1000, 50 * seed, 10.0, windows)


def runs(text: str = "rfc") -> list[StudyRun]:
    bits_of = {"vanilla": 1.5, "fixed": 1.45, "whitespace": 1.4, "entropy": 1.6}
    return [run(name, name, seed, bpc, text) for name, bpc in bits_of.items() for seed in (1, 2, 3)]


def test_rows_are_means_over_seeds() -> None:
    row = study_rows(runs())[0]
    assert row["bpc"] == pytest.approx(1.5 + 2e-4)
    assert row["high"] - row["bpc"] == pytest.approx(4.303 * 1e-4 / 3**0.5, rel=1e-3)
    assert (row["steps"], row["factor"], len(row["runs"])) == (100, 4.0, 3)
    assert row["runs"][2]["seed"] == 3


def test_one_seed_keeps_its_own_interval() -> None:
    (row,) = study_rows([run("vanilla", "vanilla", 1, 1.5)])
    assert row["low"] == pytest.approx(1.45)


def test_segments_are_compared_with_every_baseline() -> None:
    differences = difference_rows(runs())
    assert {(row["row"], row["other"]) for row in differences} == {
        (name, other) for name in ("whitespace", "entropy") for other in ("vanilla", "fixed")
    }
    better = where(differences, {"row": "whitespace", "other": "vanilla"})[0]
    assert better["difference"] == pytest.approx(-0.1, abs=1e-3)
    assert better["p_seeds"] < 1e-6
    assert better["p_windows"] < 1e-6
    assert is_better(differences, "whitespace", "rfc")
    assert not is_better(differences, "entropy", "rfc")
    assert not is_better(differences, "vanilla", "rfc")
    assert difference_table(differences).cells()[0][1] == "whitespace - vanilla"


def test_one_seed_is_tested_over_windows() -> None:
    differences = difference_rows([run(name, name, 1, bpc) for name, bpc in (("vanilla", 1.5), ("entropy", 1.4))])
    assert differences[0]["p_seeds"] is None
    assert is_better(differences, "entropy", "rfc")
    assert difference_table(differences).cells()[0][4] == "-"


def test_the_table_has_columns_of_each_text() -> None:
    both = runs() + runs("fi")
    table = study_table("Table 1", study_rows(both), difference_rows(both), ["notes"])
    assert [heading for heading in table.headings() if "BPC" in heading] == ["rfc BPC", "fi BPC"]
    cells = dict((row[0], row) for row in table.cells())
    assert cells["whitespace"][1:5] == ("1.4002", "0.0002", "*", "4.00")
    assert cells["entropy"][3] == ""
    assert table.notes[-1] == "notes"
