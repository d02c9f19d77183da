import json
from pathlib import Path

import pytest

from sumpool.errors import CheckpointError
from sumpool.runs.run_summary import describe_run, sparkline
from tests.runs.runs import add_evaluation, make_run


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
