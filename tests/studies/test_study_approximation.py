from pathlib import Path

import pytest

from sumpool.bench.results import unique
from sumpool.errors import DataError
from sumpool.studies.run import run_study
from tests.studies.test_study_sparsity import prepare

pytestmark = pytest.mark.slow

SMALL = ("study.lengths=[16, 32, 500]", "study.features=[4, 8]", "study.repeats=1", "study.head_dim=8")


def prepared(folder: Path, documents: int) -> list[str]:
    return [*SMALL, prepare(folder, documents)[-1], "study.documents=3"]


def test_weights_of_a_run_are_measured_too(run_folder: Path, tmp_path: Path) -> None:
    report = run_study("approximation", run_folder, overrides=prepared(tmp_path, 7))
    assert (report.recipe, report.suite) == ("random", "approximation")
    rows = report.result.rows["approximation"]
    assert unique(rows, "weights") == ["random", "trained"]
    assert {row["length"] for row in rows if row["weights"] == "trained"} == {16, 32}  # documents have 60 tokens
    assert {row["measured"] for row in rows if row["weights"] == "trained"} == {3}  # one layer, three documents


def test_a_run_without_validation_documents(run_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="validation must hold a document with a summary, got none"):
        run_study("approximation", run_folder, overrides=prepared(tmp_path, 0))
