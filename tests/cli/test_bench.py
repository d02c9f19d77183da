import json
from pathlib import Path

from typer.testing import CliRunner

from sumpool.cli.app import app

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


def test_operators(tiny_recipe: Path) -> None:
    result = CliRunner().invoke(app, ["bench", str(tiny_recipe), "--suite", "operators", *SMALL])
    assert result.exit_code == 0, result.output
    assert "halving, hard" in result.stdout
