import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import run
from tests.runs.test_run_summary import add_evaluation, make_run


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    toy = make_run(tmp_path / "runs" / "toy", finished=20)
    add_evaluation(toy, "test", 0.5)
    sample = {"kind": "sample", "step": 10, "id": "d\x1b[2J1", "summary": "The router\u202e sends."}
    (toy / "samples.jsonl").write_text(f"{json.dumps(sample)}\n")
    make_run(tmp_path / "runs" / "new")
    return tmp_path / "runs"


def test_runs_are_listed() -> None:
    result = run("runs")
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["runs/toy", "finished", "2.000", "50.0", "50.0", "50.0", "test", "22", "0.0", "17/20"] in [
        line[:10] for line in lines
    ]
    assert ["runs/new", "in", "progress", "2.000", "32.0", "12.0", "22.0", "training"] in [line[:8] for line in lines]


def test_scores_of_other_tasks_have_columns_where_there_are_any(runs: Path) -> None:
    assert "BPC" not in run("runs").stdout
    report = runs / "toy" / "evaluation" / "test" / "report.json"
    report.write_text(json.dumps({"bpc": {"mean": 1.25, "low": 1.0, "high": 1.5}}))
    listed = run("runs").stdout
    assert "BPC" in listed
    assert "1.250" in listed
    assert "accuracy %" not in listed
    shown = run("show", str(runs / "toy"))
    assert (shown.exit_code, "1.250" in shown.stdout) == (0, True)


def test_runs_as_json() -> None:
    listed = json.loads(run("runs", "runs", "--json").stdout)
    assert {run["run"] for run in listed} == {"runs/toy", "runs/new"}
    assert {run["loss"] for run in listed} == {2.0}


def test_damaged_runs_have_a_reason_without_effect_on_the_terminal(runs: Path) -> None:
    make_run(runs / "bad\x1b[2J")
    (runs / "bad\x1b[2J" / "manifest.json").write_text("{}")
    result = run("runs")
    assert "is damaged: " in result.stdout
    assert "\x1b" not in result.stdout


def test_folder_without_runs() -> None:
    Path("empty").mkdir()
    assert run("runs", "empty").stdout == "no runs in empty\n"


@pytest.mark.slow
def test_torch_is_not_imported(runs: Path) -> None:
    program = (
        "import sys; from sumpool.cli.app import app; sys.argv[1:] = {}; "
        "app(standalone_mode=False); assert 'torch' not in sys.modules"
    )
    for arguments in (["runs"], ["show", "runs/toy"]):
        subprocess.run([sys.executable, "-c", program.format(arguments)], check=True, cwd=runs.parent)


def test_a_run_is_described() -> None:
    result = run("show", "runs/toy")
    assert result.exit_code == 0
    text = result.stdout
    assert "model.encoder         blockwise 16, halving 8; vanilla" in text
    assert "validations after steps 5 to 15" in text
    assert "loss       █▁▅  3 → 2.5" in text.replace("▄", "▅")
    assert "LEAD-60" in text
    assert "sample d\\u001b[2J1 after step 10:\nThe router\\u202e sends." in text


def test_a_run_as_json() -> None:
    details = json.loads(run("show", "runs/toy", "--json").stdout)
    assert details["summary"]["state"] == "finished"
    assert details["systems"]["test"]["toy"]["rouge1"] == 50.0


def test_damage_is_told(runs: Path) -> None:
    (runs / "toy" / "recipe.yaml").write_text("name: toy\n")
    result = run("show", "runs/toy")
    assert result.exit_code == 0
    assert "damaged: " in result.stdout
