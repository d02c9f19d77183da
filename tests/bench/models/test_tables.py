import json
from typing import Any

import pytest
import torch

from sumpool.bench.measures.timing import Timing
from sumpool.bench.models.tables import growth_rows, model_result, step_rows
from sumpool.bench.results.report import BenchReport, describe, versions
from sumpool.bench.results.table import Row, Table

MEBI = 2**20


def row(workload: str, model: str, length: int, *seconds: float, note: str = "", **values: object) -> Row:
    labels = {"workload": workload, "model": model, "length": length, "batch": 4}
    return Row({**labels, **values}, Timing(seconds) if seconds else None, note)


def speed(rate: str, length: int, amount: int, *seconds: float) -> Row:
    return Row({"rate": rate, "length": length, "amount": amount}, Timing(seconds))


OURS: dict[str, Any] = {"precision": "fp32", "weights": 2 * MEBI}
MODEL = {**OURS, "memory": 3 * MEBI, "operations": 25 * 10**9, "output_lengths": (1024, 64), "step_bytes": 3 * MEBI}
ROWS = (
    row("encode", "model", 1024, 0.5, 0.5, 0.6, **MODEL),
    row("encode", "blockwise", 1024, 1.0, 1.2, **OURS, memory=6 * MEBI, output_lengths=(1024,) * 2),
    row("encode", "theirs", 1024, 1.0, 3.0, precision="bf16"),
    row("encode", "theirs", 2048, note="out of memory"),
    row("encode", "theirs", 4096, note="out of memory"),
    row("encode", "others", 1024, note="nothing to read"),
    row("encode", "others", 2048, note="out of memory"),
    row("encode", "some", 1024, note="a repetition would take about 3 s"),
    row("encode", "some", 2048, 1.0, 1.0),
    row("generate", "model", 1024, 2.0, **OURS, step_bytes=3 * MEBI),
)
MACHINE = (
    speed("fp32 products", 1024, 10**9, 0.01, 0.01),
    speed("fp32 products", 2048, 10**9, 0.02),
    speed("memory read", 1024, 10**9, 0.1),
)
RESULT = model_result(ROWS, MACHINE, generate=64, beams=2)
REPORT = BenchReport(
    recipe="tiny",
    suite="model",
    machine=describe(torch.device("cpu")),
    versions=versions(),
    device="cpu",
    precision="fp32",
    settings={"bench": {"generate": 64, "beams": 2}, "model": {"dim": 8}, "vocabulary": 40},
    result=RESULT,
)


def table(title: str) -> Table:
    (found,) = [found for found in RESULT.tables if found.title.startswith(title)]
    return found


def test_machine_stands_first() -> None:
    machine = REPORT.tables()[0]
    assert machine.title == "bench of tiny"
    assert ("precision", "fp32") in machine.cells()
    assert ("torch", torch.__version__) in machine.cells()


def test_speed_of_the_machine_is_the_median_of_all_turns() -> None:
    cells = table("speed of the machine").cells()
    assert cells == [("fp32 products", "100 Gop/s", "2.00?"), ("memory read", "10.0 GB/s", "1.00")]


def test_models_and_their_output_lengths() -> None:
    assert table("models").cells() == [
        ("model", "2", "fp32", "1,024", "1,024, 64"),
        ("blockwise", "2", "fp32", "1,024", "2 x 1,024"),
    ]


def test_workloads() -> None:
    encode, generate = table("encoding, batch"), table("encoding and generating")
    assert encode.title == "encoding, batch 4"
    assert encode.headings()[-3:] == ["/ weights", "utilization", "x model"]
    assert encode.cells() == [
        ("1,024", "model", "0.500", "1.20", "8.00", "8,192", "3", "1.50", "50 %", "1.00"),
        ("1,024", "blockwise", "1.10", "1.20", "3.64", "3,724", "6", "3.00", "-", "2.20"),
        ("1,024", "theirs", "2.00", "3.00?", "2.00", "2,048", "-", "-", "-", "4.00?"),
        ("2,048", "some", "1.00", "1.00", "4.00", "8,192", "-", "-", "-", "-"),
    ]
    assert encode.notes == [
        "theirs was left out from 2,048 tokens on: out of memory",
        "others was left out: nothing to read",
        "some was left out at 1,024 tokens: a repetition would take about 3 s",
        "medians of 2 to 3 repetitions; x model: time over that of the model",
        "utilization: operations per second over those of a large product in the same precision",
        "precision: model fp32, blockwise fp32, theirs bf16",
        "?: slowest over fastest above 1.5; measure again on a quiet machine",
    ]
    assert generate.title == "encoding and generating 64 tokens with 2 beams, batch 4"
    assert generate.notes == ["single repetitions; x model: time over that of the model"]
    assert "utilization" not in generate.headings()


def test_decoding_steps() -> None:
    cells = table("one decoding step").cells()
    assert cells == [("1,024", "model", "23.4", "1.20", "3", "1 %", "1.00")]


def test_json_keeps_every_repetition() -> None:
    loaded = json.loads(REPORT.to_json())
    assert loaded["models"][0]["seconds"] == [0.5, 0.5, 0.6]
    assert loaded["models"][3]["note"] == "out of memory"
    assert loaded["machine"]["cores"] >= 1


SPEEDS = (
    speed("fp32 products", 16, 100, 1.0),
    speed("memory read", 16, 40, 1.0),
    speed("memory copied", 16, 50, 1.0),
)
ENCODE = row("encode", "model", 16, 2.0, 2.0, operations=120, precision="fp32")
GENERATE = row("generate", "model", 16, 4.0, 6.0, 5.0, precision="fp32", step_bytes=60)


def utilization(measured: Row) -> object:
    (found,) = model_result([measured], SPEEDS, 1, 1).rows["models"]
    return found["utilization"]


def test_operations_are_compared_with_the_same_turns() -> None:
    assert utilization(ENCODE) == pytest.approx(120 / 2 / 100)


def test_no_utilization_without_a_speed() -> None:
    for measured in (
        row("encode", "theirs", 16, 2.0, operations=120),
        row("encode", "model", 16, 2.0, operations=120, precision="bf16"),
        row("encode", "model", 32, 2.0, operations=120, precision="fp32"),
        row("encode", "model", 16, note="out of memory", operations=120, precision="fp32"),
        GENERATE,
    ):
        assert utilization(measured) is None


def test_a_step_is_generation_less_encoding() -> None:
    (step,) = step_rows([ENCODE, GENERATE], SPEEDS, tokens=2)
    assert step["median"] == (5.0 - 2.0) / 2
    assert step["spread"] == 1.5
    assert step["bandwidth"] == pytest.approx(60 / 1.5 / 50)  # of the faster of both speeds


def test_a_peers_step_has_no_bandwidth() -> None:
    (step,) = step_rows([row("encode", "x", 16, 1.0), row("generate", "x", 16, 2.0)], SPEEDS, tokens=1)
    assert (step["median"], step["step_bytes"], step["bandwidth"]) == (1.0, None, None)


def test_no_step_where_one_is_missing_or_noise() -> None:
    for rows in ([GENERATE], [ENCODE], [ENCODE, row("generate", "model", 16, 2.0)]):
        assert list(step_rows(rows, SPEEDS, tokens=1)) == []


def test_no_growth_through_two_lengths() -> None:
    assert list(growth_rows([row("encode", "model", 2**n, 2.0**n) for n in range(2)])) == []


def test_growth_leaves_out_what_was_not_measured() -> None:
    rows = [row("encode", "model", 2**n, 2.0**n) for n in range(4)]
    rows.append(row("encode", "model", 16, note="out of memory"))
    (growth,) = growth_rows(rows)
    assert (growth["lengths"], growth["bytes"]) == ("1 to 8", None)
    assert growth["seconds"] == pytest.approx(1.0)
    printed = model_result(rows, [], 1, 1).tables[-1]
    assert printed.cells() == [("encode", "model", "1 to 8", "1.00", "-", "-")]
