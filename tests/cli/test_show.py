import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sumpool.cli.app import app
from tests.runs.runs import add_evaluation, make_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run = make_run(tmp_path / "toy", finished=20)
    add_evaluation(run, "test", 0.5)
    sample = {"kind": "sample", "step": 10, "id": "d\x1b[2J1", "summary": "The router\u202e sends."}
    (run / "samples.jsonl").write_text(f"{json.dumps(sample)}\n")
    return run


def test_a_run_is_described(run: Path) -> None:
    result = CliRunner().invoke(app, ["show", str(run)])
    assert result.exit_code == 0
    text = result.stdout
    assert "model.encoder         blockwise 16, halving 8; vanilla" in text
    assert "validations after steps 5 to 15" in text
    assert "loss       █▁▅  3 → 2.5" in text.replace("▄", "▅")
    assert "LEAD-60" in text
    assert "sample d\\u001b[2J1 after step 10:\nThe router\\u202e sends." in text


def test_a_run_as_json(run: Path) -> None:
    details = json.loads(CliRunner().invoke(app, ["show", str(run), "--json"]).stdout)
    assert details["summary"]["state"] == "finished"
    assert details["systems"]["test"]["toy"]["rouge1"] == 50.0


def test_damage_is_told(run: Path) -> None:
    (run / "recipe.yaml").write_text("name: toy\n")
    result = CliRunner().invoke(app, ["show", str(run)])
    assert result.exit_code == 0
    assert "damaged: " in result.stdout
