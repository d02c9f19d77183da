import json
import re
from pathlib import Path

import pytest

from sumpool.cli.study import OF_RUN, STUDIES
from tests.cli.conftest import run

pytestmark = pytest.mark.usefixtures("small_probes")
SMALL = ["--length", "32", "--set", "bench.target=4", "--set", "bench.generate=2", "--set", "bench.repeats=1"]


@pytest.mark.slow
def test_tables_are_printed_and_kept(tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    few = [*SMALL, "--set", "bench.workloads=[encode]"]
    for _ in range(2):  # a benchmark may be replaced
        result = run("bench", str(tiny_recipe), "--out", "kept.json", *few)
        assert result.exit_code == 0, result.output
        assert "bench of tiny" in result.stdout
        assert "encoding, batch 1" in result.stdout
    assert json.loads(Path("kept.json").read_text())["suite"] == "model"


def test_words_that_do_not_fit_are_said_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("recipe.yaml").write_text("{}")
    for words, message in (
        (["nothing"], "nothing must be corpus, start, or a run folder or recipe that is there"),
        (
            ["recipe.yaml", "runs/mine"],
            "a second name must follow corpus or start only, got runs/mine after recipe.yaml",
        ),
        (["corpus", "--length", "3"], "--length must go with a model, got corpus"),
        (["start", "--set", "bench.words=3"], "--set must go with a model, got start"),
        *(
            ([option, "nowhere/x"], f"{option} must name a file in a folder that is there, got nowhere/x")
            for option in ("--out", "--csv", "--latex")
        ),
        (
            ["recipe.yaml", "--out", "recipe.yaml"],
            "recipe.yaml must be new or a benchmark that --out wrote, got another",
        ),
    ):
        assert message in str(run("bench", *words).exception)


def test_without_a_name_all_are_listed() -> None:
    result = run("study")
    assert all(f"{name} " in result.stdout for name in STUDIES)
    assert set(OF_RUN) < set(STUDIES)


@pytest.mark.slow
def test_tables_are_written_as_csv_and_latex(tmp_path: Path) -> None:
    sizes = [f"--set=study.{size}" for size in ("lengths=[8]", "features=[4]", "repeats=1", "head_dim=4")]
    files = ["--csv", f"{tmp_path}/t.csv", "--latex", f"{tmp_path}/t.tex"]
    result = run("study", "approximation", *files, *sizes)
    assert result.exit_code == 0, result.output
    assert "weights,tokens,approximation,of,4" in (tmp_path / "t.csv").read_text()
    assert r"\begin{tabular}{lllrr}" in (tmp_path / "t.tex").read_text()


def test_words_that_do_not_fit_are_said(tmp_path: Path) -> None:
    for words, message in (
        (("operators", "runs/mine"), f"a run must follow {', '.join(OF_RUN)} only, got runs/mine after operators"),
        (("sparsity", str(tmp_path)), "must be a run folder"),
        (("operator",), "the study must be one of operators, complexity, .*, got operator .*did you mean operators"),
        (("segments", str(tmp_path)), "a run and a document must follow segments only, got segments"),
        (("operators", "--plot", "operators.png"), "--plot must go with segments, got operators"),
        (("sparsity", "run", "doc"), "segments only, got sparsity run doc"),
    ):
        assert re.search(message, str(run("study", *words).exception))
