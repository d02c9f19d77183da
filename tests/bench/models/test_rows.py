import json

import torch

from sumpool.bench.measures.growth import Growth
from sumpool.bench.measures.rates import RateRow
from sumpool.bench.measures.timing import Timing
from sumpool.bench.models.found import FoundModels
from sumpool.bench.models.rows import GrowthRow, ModelRow, StepRow
from sumpool.bench.results.machine import describe, versions
from sumpool.bench.results.result import BenchReport

MEBI = 2**20
FOUND = FoundModels(
    models=(
        ModelRow(
            "encode", "model", 1024, 4, Timing((0.5, 0.5, 0.6)), 3 * MEBI, 15, "", "fp32", 2 * MEBI, (1024, 64), 0.5
        ),
        ModelRow("encode", "blockwise", 1024, 4, Timing((1.0, 1.2)), 6 * MEBI, 30, "", "fp32", 2 * MEBI, (1024,) * 2),
        ModelRow("encode", "theirs", 1024, 4, Timing((1.0, 3.0)), None, None),
        ModelRow("encode", "theirs", 2048, 4, note="memory ended"),
        ModelRow("encode", "theirs", 4096, 4, note="memory ended"),
        ModelRow("encode", "others", 1024, 4, note="nothing to read"),
        ModelRow("encode", "others", 2048, 4, note="memory ended"),
        ModelRow("encode", "some", 1024, 4, note="a repetition would take about 3 s"),
        ModelRow("encode", "some", 2048, 4, Timing((1.0, 1.0))),
        ModelRow("generate", "model", 1024, 4, Timing((2.0,))),
    ),
    growth=(
        GrowthRow("encode", "model", "seconds", (1024, 2048, 4096), Growth(1.012, 0.99987)),
        GrowthRow("encode", "model", "operations", (1024, 2048, 4096), Growth(0.9, 0.99987)),
    ),
    generate=64,
    beams=2,
    steps=(
        StepRow("model", 1024, 4, 0.0123, 1.2, 3 * MEBI, 0.61),
        StepRow("theirs", 1024, 4, 0.1, 1.6),
    ),
    rates=(
        RateRow("fp32 products", 1024, 10**9, Timing((0.01, 0.01))),
        RateRow("fp32 products", 2048, 10**9, Timing((0.02,))),
        RateRow("memory read", 1024, 10**9, Timing((0.1,))),
    ),
)
REPORT = BenchReport(
    recipe="tiny",
    suite="model",
    machine=describe(torch.device("cpu")),
    versions=versions(),
    device="cpu",
    precision="fp32",
    settings={"bench": {"generate": 64, "beams": 2}, "model": {"dim": 8}, "vocabulary": 40},
    found=FOUND,
)


def test_machine_stands_first() -> None:
    machine = REPORT.tables()[0]
    assert machine.title == "bench of tiny"
    assert ("precision", "fp32") in machine.rows
    assert ("torch", torch.__version__) in machine.rows


def test_what_the_machine_does_is_the_median_of_all_turns() -> None:
    rates, *_ = FOUND.tables()
    assert rates.rows == (("fp32 products", "100 Gop/s", "2.00?"), ("memory read", "10.0 GB/s", "1.00"))


def test_models_and_their_layouts() -> None:
    _, models, *_ = FOUND.tables()
    assert models.rows == (
        ("model", "2", "fp32", "1,024", "1,024, 64"),
        ("blockwise", "2", "fp32", "1,024", "2 x 1,024"),
    )


def test_works() -> None:
    _, _, encode, generate, *_ = FOUND.tables()
    assert encode.title == "reading documents, batch 4"
    assert encode.columns[-3:] == ("/ weights", "matrix rate", "x model")
    assert encode.rows == (
        ("1,024", "model", "0.500", "1.20", "8.00", "8,192", "3", "1.50", "50 %", "1.00"),
        ("1,024", "blockwise", "1.10", "1.20", "3.64", "3,724", "6", "3.00", "-", "2.20"),
        ("1,024", "theirs", "2.00", "3.00?", "2.00", "2,048", "-", "-", "-", "4.00?"),
        ("2,048", "some", "1.00", "1.00", "4.00", "8,192", "-", "-", "-", "-"),
    )
    assert encode.notes == (
        "theirs was left out from 2,048 tokens on: memory ended",
        "others was left out: nothing to read",
        "some was left out at 1,024 tokens: a repetition would take about 3 s",
        "medians of 2 to 3 repetitions; x model: how many times as long as the model",
        "matrix rate: operations a second over those of a large product in the same precision",
        "?: slowest over fastest above 1.5; measure again on a quiet machine",
    )
    assert generate.title == "reading documents and writing 64 tokens about each with 2 beams, batch 4"
    assert generate.notes == ("single repetitions; x model: how many times as long as the model",)


def test_steps() -> None:
    *_, steps, _ = FOUND.tables()
    assert steps.rows == (
        ("1,024", "model", "12.3", "1.20", "3", "61 %", "1.00"),
        ("1,024", "theirs", "100", "1.60?", "-", "-", "8.13?"),
    )


def test_growth() -> None:
    *_, growth = FOUND.tables()
    assert growth.rows == (("encode", "model", "1,024 to 4,096", "1.01", "-", "0.90"),)


def test_every_row_has_a_cell_for_every_heading() -> None:
    for table in REPORT.tables():
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_json_keeps_every_repetition() -> None:
    loaded = json.loads(REPORT.to_json())
    assert loaded["models"][0]["timing"]["seconds"] == [0.5, 0.5, 0.6]
    assert loaded["models"][3]["note"] == "memory ended"
    assert loaded["machine"]["cores"] >= 1
