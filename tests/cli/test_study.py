import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sumpool.cli.app import app
from sumpool.cli.study import OF_RUN, STUDIES
from sumpool.errors import RecipeError

pytestmark = pytest.mark.usefixtures("small_probes")


def test_without_a_name_all_are_listed() -> None:
    result = CliRunner().invoke(app, ["study"], catch_exceptions=False)
    assert all(f"{name} " in result.stdout for name in STUDIES)
    assert set(OF_RUN) < set(STUDIES)


@pytest.mark.slow
def test_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "operators.png"
    small = [
        "--set",
        "study.lengths=[4]",
        "--set",
        "study.repeats=1",
        "--set",
        "study.model_dim=8",
        "--set",
        "study.batch=1",
    ]
    words = ["study", "operators", *small, "--plot", str(path)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "similarity to exact top-k" in result.stdout
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_tables_are_written_as_csv_and_latex(tmp_path: Path) -> None:
    files = ["--csv", str(tmp_path / "t.csv"), "--latex", str(tmp_path / "t.tex")]
    sizes = ["study.lengths=[8]", "study.features=[4]", "study.repeats=1", "study.head_dim=4"]
    result = CliRunner().invoke(app, ["study", "approximation", *files, *(f"--set={size}" for size in sizes)])
    assert result.exit_code == 0, result.output
    assert "weights,tokens,approximation,of,4" in (tmp_path / "t.csv").read_text()
    assert r"\begin{tabular}{lllrr}" in (tmp_path / "t.tex").read_text()


def test_a_run_follows_studies_of_runs_only() -> None:
    result = CliRunner().invoke(app, ["study", "operators", "runs/mine"])
    assert f"a run must follow {', '.join(OF_RUN)} only, got runs/mine after operators" in str(result.exception)


@pytest.mark.slow
def test_scaling_follows_from_a_recipe(tiny_recipe: Path) -> None:
    result = CliRunner().invoke(app, ["study", "scaling", str(tiny_recipe), "--json"])
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["suite"] == "scaling"
    assert len(report["scaling"]) == 8


def test_sparsity_needs_a_run(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["study", "sparsity", str(tmp_path)])
    assert "must be a run folder" in str(result.exception)


@pytest.mark.slow
def test_an_attention_map_needs_a_run_and_a_document(run_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(
        RecipeError, match="a run and a document must follow attention-map, and it alone, got attention-m"
    ):
        CliRunner().invoke(app, ["study", "attention-map", str(run_folder)], catch_exceptions=False)
    with pytest.raises(RecipeError, match="it alone, got sparsity run doc"):
        CliRunner().invoke(app, ["study", "sparsity", "run", "doc"], catch_exceptions=False)
    (tmp_path / "doc.txt").write_text("The server sends a packet to the router. The router drops it.")
    picture = tmp_path / "map.png"
    given = ["study", "attention-map", str(run_folder), str(tmp_path / "doc.txt"), "--plot", str(picture)]
    result = CliRunner().invoke(app, given, catch_exceptions=False)
    assert result.exit_code == 0
    assert picture.is_file()


def test_a_name_that_is_nothing_is_said_with_what_was_meant() -> None:
    result = CliRunner().invoke(app, ["study", "operator"])
    expected = "the study must be one of operators, complexity, .*, got operator .*did you mean operators"
    assert re.search(expected, str(result.exception))
