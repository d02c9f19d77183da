import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from sumpool.errors import CheckpointError, DataError
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.runs.run_summary import describe_run, list_runs, records_of, run_folders, sparkline, summarize_run

RECIPE = """\
name: {name}
seed: 3
data: {{source: {{kind: csv, path: rows.csv}}, prepared: prepared/rows}}
model:
  dim: 16
  source_length: 64
  target_length: 16
  encoder:
    - {{attention: {{kind: blockwise, block: 16}}, pool: {{kind: halving, keep: 8}}}}
    - {{attention: {{kind: vanilla}}}}
  decoder: {{layers: 1}}
  output: {{kind: pointer}}
train: {{steps: 20, schedule: {{kind: constant}}, init_from: [runs/a, runs/b]}}
"""
LOSSES = (3.0, 2.0, 2.5)


def make_run(run: Path, **facts: object) -> Path:
    """A run of 20 steps that was validated after 5, 10 and 15, with the weights of step 10."""
    run.mkdir(parents=True)
    (run / "recipe.yaml").write_text(RECIPE.format(name=run.name))
    save_file({"a.weight": torch.zeros(3, 5), "b": torch.zeros(7)}, run / "model.safetensors")
    records: list[dict[str, Any]] = [{"kind": "step", "step": step, "nats": 3.0} for step in range(1, 18)]
    for number, loss in enumerate(LOSSES, 1):
        scores = {"rouge1": 30.0 + number, "rouge2": 10.0 + number, "rougeLsum": 20.0 + number}
        records.append({"kind": "validation", "step": 5 * number, "nats": loss, **scores, "best": loss < 2.5})
    (run / "metrics.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    files = {name: FileDigest.of(run / name) for name in ("recipe.yaml", "model.safetensors")}
    Manifest(files, {"data": "x", "step": 10, "validation_loss": 2.0, **facts}).write(run)
    return run


def add_evaluation(run: Path, split: str, rouge1: float) -> None:
    scores = {name: {"mean": rouge1, "low": 0.0, "high": 1.0} for name in ("rouge1", "rouge2", "rougeL", "rougeLsum")}
    rows = [
        {"slice": slice_name, "system": system, "rouge": scores}
        for slice_name in ("all", "low-leak")
        for system in ("toy", "LEAD-60")
    ]
    folder = run / "evaluation" / split
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(json.dumps({"rows": rows}))


def test_run_in_progress(tmp_path: Path) -> None:
    summary = summarize_run(make_run(tmp_path / "toy"))
    assert (summary.run, summary.name, summary.state) == (str(tmp_path / "toy"), "toy", "in progress")
    assert (summary.step, summary.steps, summary.loss) == (17, 20, 2.0)
    assert (summary.rouge, summary.scored) == ({"rouge1": 32.0, "rouge2": 12.0, "rougeLsum": 22.0}, "training")
    assert summary.parameters == 22
    assert summary.bytes == (tmp_path / "toy" / "model.safetensors").stat().st_size
    assert summary.date.startswith("20")
    assert summary.date.endswith("+00:00")


def test_state(tmp_path: Path, run_folder: Path) -> None:
    for facts, state in (
        ({"finished": 20}, "finished"),
        ({"finished": 19}, "in progress"),  # its steps were raised
        ({"finished": 10, "stale_validations": 3}, "in progress"),
        ({"data": None}, "in progress"),
    ):
        run = make_run(tmp_path / f"{facts}", **facts)
        assert summarize_run(run).state == state
    run = make_run(tmp_path / "toy", finished=10, stale_validations=3)
    recipe = run / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("steps: 20,", "steps: 20, patience: 3,"))
    assert summarize_run(run).state == "finished"
    assert summarize_run(run_folder).state == "imported"


def test_evaluation_of_the_test_split_comes_first(tmp_path: Path) -> None:
    run = make_run(tmp_path / "toy")
    add_evaluation(run, "validation", 0.25)
    assert (summarize_run(run).scored, summarize_run(run).rouge["rouge1"]) == ("validation", 25.0)
    add_evaluation(run, "test", 0.5)
    assert (summarize_run(run).scored, summarize_run(run).rouge["rouge1"]) == ("test", 50.0)
    (run / "evaluation" / "test" / "report.json").write_text("{")
    assert summarize_run(run).scored == "validation"


@pytest.mark.parametrize(("name", "mean", "shown"), [("bpc", 1.25, 1.25), ("accuracy", 0.75, 75.0)])
def test_scores_of_other_tasks(tmp_path: Path, name: str, mean: float, shown: float) -> None:
    run = make_run(tmp_path / "toy")
    add_evaluation(run, "test", 0.5)
    report = run / "evaluation" / "test" / "report.json"
    report.write_text(json.dumps({name: {"mean": mean, "low": 0.0, "high": 2.0}}))
    summary = summarize_run(run)
    assert (getattr(summary, name), summary.scored, summary.rouge) == (shown, "test", {})
    report.write_text(json.dumps({name: mean}))  # of another form
    assert (getattr(summarize_run(run), name), summarize_run(run).scored) == (None, "training")


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("manifest.json", lambda _: b"{}"),
        ("manifest.json", None),
        ("model.safetensors", None),
        ("model.safetensors", lambda content: content[:-1]),
        ("model.safetensors", lambda content: b"\xff" * len(content)),
        ("recipe.yaml", lambda _: b"name: ["),
        ("recipe.yaml", lambda _: b"- name"),
        ("metrics.jsonl", lambda _: b'{"kind": "step", "st\n'),
    ],
)
def test_damaged_run_has_a_reason(tmp_path: Path, name: str, damage: Callable[[bytes], bytes] | None) -> None:
    path = make_run(tmp_path / "toy") / name
    if damage:
        path.write_bytes(damage(path.read_bytes()))
    else:
        path.unlink()
    summary = summarize_run(path.parent)
    assert summary.state == "damaged"
    assert str(path.parent) in summary.problem or name == "metrics.jsonl"
    assert "\n" not in summary.problem


def test_folders_of_sweeps_are_searched_and_checkpoints_are_not(tmp_path: Path) -> None:
    for name in ("one", "sweep/row-seed1", ".tmp-half"):
        make_run(tmp_path / name)
    (tmp_path / "one" / "checkpoints" / "step-00000001").mkdir(parents=True)
    (tmp_path / "one" / "checkpoints" / "step-00000001" / "model.safetensors").touch()
    assert run_folders(tmp_path) == [tmp_path / "one", tmp_path / "sweep" / "row-seed1"]
    assert run_folders(tmp_path / "one") == [tmp_path / "one"]
    assert run_folders(tmp_path / "none") == []


def test_incomplete_last_line_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"kind": "step", "step": 1}\n{"kind": "validation", "step": 1}\n{"kind": "step", "ste')
    assert records_of(path, "step") == [{"kind": "step", "step": 1}]
    assert records_of(path, "validation", last=True) == [{"kind": "validation", "step": 1}]
    assert records_of(tmp_path / "none", "step") == []


def test_newest_run_comes_first(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none must be a folder of runs, got none; sumpool train makes one"):
        list_runs(tmp_path / "none")
    for number, name in enumerate(("b", "c", "a")):
        for path in make_run(tmp_path / name).iterdir():
            os.utime(path, (1e9 + 60 * number, 1e9 + 60 * number))
    assert [run.name for run in list_runs(tmp_path)] == ["a", "c", "b"]


def test_details_of_a_run(tmp_path: Path) -> None:
    run = make_run(tmp_path / "toy")
    add_evaluation(run, "test", 0.5)
    samples = [
        {"kind": "sample", "step": step, "id": f"d{number}", "summary": "S."} for step in (5, 10) for number in (1, 2)
    ]
    (run / "samples.jsonl").write_text("".join(f"{json.dumps(sample)}\n" for sample in samples))
    details = describe_run(run)
    assert details.summary.state == "in progress"
    assert details.recipe["model.encoder"] == "blockwise 16, halving 8; vanilla"
    assert details.recipe["train.init_from"] == "runs/a, runs/b"
    assert details.recipe["data.source"] == "csv rows.csv"
    assert details.data == {}  # without a data report
    assert [record["nats"] for record in details.validations] == [3.0, 2.0, 2.5]
    assert "best" not in details.validations[0]
    assert [sample["id"] for sample in details.samples] == ["d1", "d2"]
    assert details.samples[0]["step"] == 10
    assert details.systems == {
        "test": {name: {"rouge1": 50.0, "rouge2": 50.0, "rougeLsum": 50.0} for name in ("toy", "LEAD-60")}
    }


def test_every_file_is_verified(tmp_path: Path) -> None:
    run = make_run(tmp_path / "toy")
    weights = run / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    summary = describe_run(run).summary
    assert summary.state == "damaged"
    assert "model.safetensors must hold" in summary.problem
    (run / "manifest.json").unlink()
    assert describe_run(run).summary.state == "damaged"
    assert describe_run(run).validations == ()


def test_folder_without_a_run_is_an_error(tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "toy")
    for folder in (tmp_path / "runs", tmp_path / "none"):
        with pytest.raises(
            CheckpointError, match=r"must be a run folder, got no recipe in it; `sumpool runs` lists runs"
        ):
            describe_run(folder)


def test_sparkline_spans_the_values() -> None:
    assert sparkline([1.0, 2.0, 3.0, 2.0]) == "▁▅█▅"
    assert sparkline([2.0, 2.0]) == "▁▁"
    assert sparkline([]) == ""
    long = sparkline([float(number) for number in range(1000)])
    assert len(long) == 60
    assert (long[0], long[-1], sorted(long)) == ("▁", "█", list(long))
