import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sumpool.cli.app import app
from sumpool.cli.study import OF_RUN, STUDIES

pytestmark = pytest.mark.usefixtures("small_probes")


def test_without_a_name_all_are_listed() -> None:
    result = CliRunner().invoke(app, ["study"], catch_exceptions=False)
    assert all(f"{name} " in result.stdout for name in STUDIES)
    assert set(OF_RUN) < set(STUDIES)


def study(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["study", *map(str, words)])


def settings(*values: str) -> list[str]:
    return [f"--set=study.{value}" for value in values]


@pytest.mark.slow
def test_tables_are_written_as_csv_and_latex(tmp_path: Path) -> None:
    sizes = settings("lengths=[8]", "features=[4]", "repeats=1", "head_dim=4")
    result = study("approximation", "--csv", tmp_path / "t.csv", "--latex", tmp_path / "t.tex", *sizes)
    assert result.exit_code == 0, result.output
    assert "weights,tokens,approximation,of,4" in (tmp_path / "t.csv").read_text()
    assert r"\begin{tabular}{lllrr}" in (tmp_path / "t.tex").read_text()


def test_words_that_do_not_fit_are_said(tmp_path: Path) -> None:
    for words, message in (
        (("operators", "runs/mine"), f"a run must follow {', '.join(OF_RUN)} only, got runs/mine after operators"),
        (("sparsity", tmp_path), "must be a run folder"),
        (("operator",), "the study must be one of operators, complexity, .*, got operator .*did you mean operators"),
        (("segments", tmp_path), "a run and a document must follow segments only, got segments"),
        (("operators", "--plot", "operators.png"), "--plot must go with segments, got operators"),
        (("sparsity", "run", "doc"), "segments only, got sparsity run doc"),
    ):
        assert re.search(message, str(study(*words).exception))
