import json
import re
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

from sumpool.bench.config import Suite
from sumpool.cli.app import app
from sumpool.cli.bench import SUITES
from sumpool.errors import RecipeError

pytestmark = pytest.mark.usefixtures("small_probes")
SMALL = ["--length", "32", "--set", "bench.target=4", "--set", "bench.generate=2", "--set", "bench.repeats=1"]


def test_table_is_a_setting_of_its_suite() -> None:
    result = CliRunner().invoke(app, ["bench", "tables", "--table", "3"])
    assert "bench.table must be" in str(result.exception)


def test_suites_are_those_of_the_settings() -> None:
    assert get_args(Suite) == SUITES


@pytest.mark.slow
def test_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "operators.png"
    small = ["--length", "4", "--set", "bench.repeats=1", "--set", "bench.model_dim=8", "--set", "bench.batch=1"]
    words = ["bench", "operators", *small, "--plot", str(path)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "similarity to exact top-k" in result.stdout
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_tables_are_written_as_csv_and_latex(tmp_path: Path) -> None:
    files = ["--csv", str(tmp_path / "t.csv"), "--latex", str(tmp_path / "t.tex")]
    sizes = ["bench.lengths=[8]", "bench.features=[4]", "bench.repeats=1", "bench.head_dim=4"]
    result = CliRunner().invoke(app, ["bench", "approximation", *files, *(f"--set={size}" for size in sizes)])
    assert result.exit_code == 0, result.output
    assert "weights,tokens,approximation,of,4" in (tmp_path / "t.csv").read_text()
    assert r"\begin{tabular}{lllrr}" in (tmp_path / "t.tex").read_text()


@pytest.mark.parametrize("option", ["--csv", "--latex"])
def test_files_of_tables_are_refused_before_anything_is_measured(option: str) -> None:
    result = CliRunner().invoke(app, ["bench", "complexity", option, "nowhere/t"])
    assert f"{option} must name a file in a folder that is there, got nowhere/t" in str(result.exception)


def test_a_target_that_is_nothing_is_said_with_what_was_meant() -> None:
    result = CliRunner().invoke(app, ["bench", "operator"])
    expected = "operator must be one of operators, complexity, .* or a run folder or recipe .*did you mean operators"
    assert re.search(expected, str(result.exception))


def test_a_run_follows_sparsity_only() -> None:
    result = CliRunner().invoke(app, ["bench", "operators", "runs/mine"])
    names = "sparsity, trainer, generation, corpus, approximation or scaling"
    assert f"a second name must follow {names} only, got runs/mine after operators" in str(result.exception)


@pytest.mark.slow
def test_scaling_follows_from_a_recipe(tiny_recipe: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "scaling", str(tiny_recipe), "--json"])
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["suite"] == "scaling"
    assert len(report["scaling"]) == 8


def test_sparsity_needs_a_run(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "sparsity", str(tmp_path)])
    assert "must be a run folder" in str(result.exception)


@pytest.mark.slow
def test_keep_show_and_compare(tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    few = [*SMALL, "--set", "bench.workloads=[encode]"]
    run = CliRunner().invoke
    first = run(app, ["bench", str(tiny_recipe), "--out", "old.json", *few])
    assert first.exit_code == 0, first.output
    assert "bench of tiny" in first.stdout
    shown = run(app, ["bench", "old.json"])
    assert "encoding, batch 1" in shown.stdout
    again = run(app, ["bench", "--compare", "old.json", "--out", "new.json", "--set", "bench.batch=2"])
    assert again.exit_code == 0, again.output
    assert "what changed" in again.stdout
    assert "different: bench.batch was 1, is 2" in again.stdout
    compared = run(app, ["bench", "new.json", "--compare", "old.json", "--json"])
    assert json.loads(compared.stdout)["differences"] == ["bench.batch was 1, is 2"]


def test_words_that_do_not_fit_are_said_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("old.json", "recipe.yaml"):
        Path(name).write_text("{}")
    for words, message in (
        (["operators", "--peers"], "--peers must go with a model or corpus, got operators"),
        (["sparsity", "--compare", "old.json"], "--compare must go with a model, got sparsity"),
        (["old.json", "--length", "3"], "--length must go with something to measure, got old.json"),
        (["old.json", "--peers"], "--peers must go with something to measure, got old.json"),
        (["--out", "nowhere/x.json"], "--out must name a file in a folder that is there, got nowhere/x.json"),
        (["--compare", "old.json"], "old.json must be a benchmark of a model that --out wrote"),
        (["old.json"], "old.json must be a benchmark of a model that --out wrote"),
        (["recipe.yaml", "--compare", "none.json"], "none.json must be a benchmark that --out wrote"),
    ):
        assert message in str(CliRunner().invoke(app, ["bench", *words]).exception)


@pytest.mark.slow
def test_an_attention_map_needs_a_run_and_a_document(run_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(
        RecipeError, match="a run and a document must follow attention-map, and it alone, got attention-m"
    ):
        CliRunner().invoke(app, ["bench", "attention-map", str(run_folder)], catch_exceptions=False)
    with pytest.raises(RecipeError, match="it alone, got sparsity run doc"):
        CliRunner().invoke(app, ["bench", "sparsity", "run", "doc"], catch_exceptions=False)
    (tmp_path / "doc.txt").write_text("The server sends a packet to the router. The router drops it.")
    picture = tmp_path / "map.png"
    given = ["bench", "attention-map", str(run_folder), str(tmp_path / "doc.txt"), "--plot", str(picture)]
    result = CliRunner().invoke(app, given, catch_exceptions=False)
    assert result.exit_code == 0
    assert picture.is_file()
