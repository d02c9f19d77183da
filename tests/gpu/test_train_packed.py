"""The way of the prepared GPU run, with a model of 16 dimensions on the CPU: pack, train, collect, summarise."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import train_packed
from collect_run import collect, read_weight_parts, write_weight_parts
from typer.testing import CliRunner

from sumpool.cli.app import app
from sumpool.errors import CheckpointError, RecipeError
from sumpool.training.weights import read_weights


def results(packed_data: Path, out: Path, *options: str) -> dict[str, Any]:
    work = out.parent / "work"
    train_packed.main([str(packed_data / "pack"), "--out", str(out), "--work", str(work), "--device", "cpu", *options])
    content: dict[str, Any] = json.loads((out / "result.json").read_text())
    return content


def test_both_stages_are_trained_and_become_a_run_that_summarises(packed_data: Path, tmp_path: Path) -> None:
    result = results(packed_data, tmp_path / "out")
    assert (result["stage"], result["finished"], result["checkpoints"][-1]) == ("second", True, 20)
    assert result["step"] in (0, 10, 20)
    for stage in ("first", "second"):
        lines = (tmp_path / f"out/metrics-{stage}.jsonl").read_text().splitlines()
        assert sum('"step"' in line and '"loss"' in line for line in lines) == 20
    collect(packed_data / "pack", tmp_path / "out", tmp_path / "run")
    trained = read_weights(tmp_path / "work/second")
    for name, tensor in read_weights(tmp_path / "run").items():
        assert tensor.equal(trained[name].bfloat16().float()), name
    document = tmp_path / "document.txt"
    document.write_text("The router sends a packet to the server. The server drops the header of the packet.\n" * 3)
    outcome = CliRunner().invoke(app, ["summarize", str(document), "--model", str(tmp_path / "run")])
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout.strip()


def test_a_stopped_run_goes_on_and_ends_as_an_uninterrupted_one(
    packed_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results(packed_data, tmp_path / "a/out")
    stopped = results(packed_data, tmp_path / "b/out", "--minutes", "0")
    assert (stopped["stage"], stopped["finished"]) == ("first", False)
    assert results(packed_data, tmp_path / "b/out")["finished"]
    again = read_weight_parts(tmp_path / "b/out")
    for name, tensor in read_weight_parts(tmp_path / "a/out").items():
        assert tensor.equal(again[name]), name
    monkeypatch.setattr(train_packed, "fit", None)
    results(packed_data, tmp_path / "b/out")  # nothing is left to train


def test_a_lost_stage_begins_with_the_weights_that_came_back(packed_data: Path, tmp_path: Path) -> None:
    results(packed_data, tmp_path / "a/out", "--steps", "2")
    before = read_weight_parts(tmp_path / "a/out")
    results(packed_data, tmp_path / "b/out", "--weights", str(tmp_path / "a/out"), "--minutes", "0")
    after = read_weight_parts(tmp_path / "b/out")
    assert all(tensor.equal(after[name]) for name, tensor in before.items())
    assert not (tmp_path / "b/work/first").exists()


def test_weights_are_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collect_run._MAX_BYTES", 100)
    weights = {"a": torch.ones(20), "b": torch.zeros(40), "c": torch.arange(90.0)}
    write_weight_parts(weights, tmp_path)
    assert len(list(tmp_path.glob("weights-*.safetensors"))) == 3
    assert {name: tensor.tolist() for name, tensor in read_weight_parts(tmp_path).items()} == {
        name: tensor.tolist() for name, tensor in weights.items()
    }


def test_results_without_weights_and_used_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"must hold weights-1\.safetensors, got none"):
        read_weight_parts(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(RecipeError, match="must be new or an empty folder"):
        collect(tmp_path, tmp_path, tmp_path)
