import json
import re
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

from sumpool.bench.config import Suite
from sumpool.cli.app import app
from sumpool.cli.bench import SUITES

pytestmark = pytest.mark.usefixtures("small_probes")
SMALL = ["--length", "32", "--set", "bench.target=4", "--set", "bench.generate=2", "--set", "bench.repeats=1"]


def test_tables(tiny_recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    result = CliRunner().invoke(app, ["bench", str(tiny_recipe), "--out", str(out), *SMALL])
    assert result.exit_code == 0, result.output
    assert "bench of tiny" in result.stdout
    assert "training step, forward and backward, batch 1" in result.stdout
    assert "blockwise" in result.stdout
    assert json.loads(out.read_text())["suite"] == "model"


def test_json(tiny_recipe: Path) -> None:
    result = CliRunner().invoke(app, ["bench", str(tiny_recipe), "--json", *SMALL])
    assert {row["length"] for row in json.loads(result.stdout)["models"]} == {32}


def test_a_suite_by_name() -> None:
    result = CliRunner().invoke(app, ["bench", "operators", "--length", "16", "--set", "bench.repeats=1"])
    assert result.exit_code == 0, result.output
    assert "similarity to exact top-k" in result.stdout


def test_table_is_a_setting_of_its_suite() -> None:
    result = CliRunner().invoke(app, ["bench", "tables", "--table", "3"])
    assert "bench.table must be" in str(result.exception)


def test_suites_are_those_of_the_settings() -> None:
    assert get_args(Suite) == SUITES


def test_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "operators.png"
    words = ["bench", "operators", "--length", "16", "--set", "bench.repeats=1", "--plot", str(path)]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_picture_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "complexity", "--plot", str(tmp_path / "x.png")])
    assert "--plot must go with one of operators, shortening, selection, sparsity, got complexity" in str(
        result.exception
    )


def test_a_target_that_is_nothing_is_said_with_what_was_meant() -> None:
    result = CliRunner().invoke(app, ["bench", "operator"])
    expected = "operator must be one of operators, complexity, .* or a run folder or recipe .*did you mean operators"
    assert re.search(expected, str(result.exception))


def test_a_run_follows_sparsity_only() -> None:
    result = CliRunner().invoke(app, ["bench", "operators", "runs/mine"])
    assert "a second name must follow sparsity only, got runs/mine after operators" in str(result.exception)


def test_sparsity_needs_a_run(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "sparsity", str(tmp_path)])
    assert "must be a run folder" in str(result.exception)
