import json

import torch

from sumpool.bench.growth import Growth
from sumpool.bench.machine import describe, versions
from sumpool.bench.model_rows import FoundModels, GrowthRow, ModelRow
from sumpool.bench.result import BenchReport
from sumpool.bench.timing import Timing

FOUND = FoundModels(
    models=(
        ModelRow("encode", "model", 1024, 4, Timing((0.5, 0.5, 0.6)), 3 * 2**20, 1_500_000_000),
        ModelRow("encode", "blockwise", 1024, 4, Timing((1.0, 1.2)), 6 * 2**20, 3_000_000_000),
        ModelRow("encode", "vanilla", 1024, 4, Timing((1.0, 3.0)), None, 9_000_000_000),
        ModelRow("encode", "vanilla", 2048, 4, note="memory ended"),
        ModelRow("generate", "model", 1024, 4, Timing((2.0,))),
    ),
    growth=(GrowthRow("encode", "model", "seconds", (1024, 2048, 4096), Growth(1.012, 0.99987)),),
    generate=64,
    beams=2,
)
REPORT = BenchReport(
    recipe="tiny",
    suite="model",
    machine=describe(torch.device("cpu")),
    versions=versions(),
    device="cpu",
    precision="fp32",
    settings={"bench": {"generate": 64, "beams": 2}},
    found=FOUND,
)


def test_machine_stands_first() -> None:
    machine = REPORT.tables()[0]
    assert machine.title == "bench of tiny"
    assert ("precision", "fp32") in machine.rows
    assert ("torch", torch.__version__) in machine.rows


def test_models() -> None:
    encode, generate, _ = FOUND.tables()
    assert encode.title == "reading documents, batch 4"
    assert encode.rows == (
        ("1,024", "model", "0.500", "1.20", "8.00", "3", "1.5", "1.00"),
        ("1,024", "blockwise", "1.100", "1.20", "3.64", "6", "3.0", "2.20"),
        ("1,024", "vanilla", "2.000", "3.00", "2.00", "-", "9.0", "4.00?"),
        ("2,048", "vanilla", "-", "-", "-", "-", "-", "-"),
    )
    assert encode.notes == (
        "vanilla at 2,048 tokens was left out: memory ended",
        "?: slowest over fastest above 1.5; measure again on a quiet machine",
    )
    assert generate.title == "reading documents and writing 64 tokens about each with 2 beams, batch 4"
    assert generate.notes == ()


def test_growth() -> None:
    *_, growth = FOUND.tables()
    assert growth.rows == (("encode", "model", "seconds", "1,024 to 4,096", "1.01", "0.9999"),)


def test_every_row_has_a_cell_for_every_heading() -> None:
    for table in REPORT.tables():
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_json_keeps_every_repetition() -> None:
    loaded = json.loads(REPORT.to_json())
    assert loaded["models"][0]["timing"]["seconds"] == [0.5, 0.5, 0.6]
    assert loaded["models"][3]["note"] == "memory ended"
    assert loaded["machine"]["cores"] >= 1
