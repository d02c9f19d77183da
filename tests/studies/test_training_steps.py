from unittest.mock import Mock

import pytest
import torch

from sumpool.bench.measures import Timing
from sumpool.bench.results import Row, unique
from sumpool.bench.workload import Conditions, Documents, Subject
from sumpool.core.pooling.halving import HalvingPoolerConfig
from sumpool.studies.config import DepthConfig, ShorteningConfig
from sumpool.studies.study import Steps
from sumpool.studies.training_steps import (
    MODELS,
    depth_model,
    depth_result,
    measure_depth,
    measure_shortening,
    pyramid,
    shortening_result,
)

CONDITIONS = Conditions(vocabulary=8, device=torch.device("cpu"), precision=torch.float32)
SIZES = {"dim": 16, "heads": 2, "feed_forward": 16, "repeats": 1}
SMALL = DepthConfig.model_validate(
    SIZES
    | {"layers": [4, 2], "lengths": [64, 32], "keep": 4, "block": 8, "target": 4, "vocabulary": 16, "seconds": 1000}
)


def test_every_model_is_timed_by_length_and_depth() -> None:
    result = measure_depth(SMALL, CONDITIONS, Steps())
    sizes = [(row["length"], row["layers"], row["model"]) for row in result.rows["depth"]]
    assert sizes == [(length, layers, name) for length in (32, 64) for layers in (2, 4) for name in MODELS]
    assert all(row.timing and len(row.timing.seconds) == 1 for row in result.rows["depth"])
    ratios = result.rows["depth_ratios"]
    assert [(row["length"], row["layers"]) for row in ratios] == [(32, 2), (32, 4), (64, 2), (64, 4)]
    assert len(result.tables[0].cells()) == 4
    assert not [note for note in result.tables[0].notes if "left out" in note]


def test_ratios_are_to_the_pyramid() -> None:
    seconds = {"vanilla": 6.0, "blockwise": 3.0, "pyramidion": 2.0}
    rows = [Row({"length": 64, "layers": 2, "model": name}, Timing((value,))) for name, value in seconds.items()]
    (line,) = depth_result(rows, SMALL).rows["depth_ratios"]
    assert (line["vanilla_ratio"], line["blockwise_ratio"]) == (3.0, 1.5)


def test_models_that_take_too_long_are_left_out() -> None:
    result = measure_depth(SMALL.model_copy(update={"seconds": 1e-9}), CONDITIONS, Steps())
    timed = [(row["length"], row["layers"]) for row in result.rows["depth"] if row.timing]
    assert timed == [(32, 2)] * 3  # nothing is known of the first size
    assert result.tables[0].notes[-1].endswith("(9 of 12)")
    assert result.tables[0].cells()[1][2:] == ("-",) * 5


def test_halvings_are_spread_over_the_layers_after_the_first_and_leave_a_shorter_memory() -> None:
    for layers, kept in (
        (1, {0: 512}),
        (2, {1: 512}),
        (3, {1: 2048, 2: 512}),
        (5, {1: 4096, 2: 2048, 3: 1024, 4: 512}),
        (9, {2: 2048, 4: 1024, 7: 512}),
    ):
        length = 8192 if layers < 9 else 4096
        assert pyramid(length, 512, layers) == kept
    assert depth_model("pyramidion", 64, 3, SMALL).encoder[2].pool == HalvingPoolerConfig(keep=16)
    documents = Documents.random(1, 64, 4, CONDITIONS)
    for name, size in (("vanilla", 64), ("blockwise", 64), ("pyramidion", 16)):
        encoder = Subject(depth_model(name, 64, 3, SMALL), CONDITIONS).model.encoder
        memory = encoder(documents.ids, documents.mask, documents.sentences).tokens
        assert memory.states.size(1) == size


SHORTENING = ShorteningConfig.model_validate(SIZES | {"factors": [4, 2], "length": 24})


def test_every_factor_is_compared_to_none_or_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measure_shortening(SHORTENING, CONDITIONS, Steps())
    rows = found.rows["shortening"]
    assert unique(rows, "factor") == [1, 2, 4]
    assert all(row.timing and len(row.timing.seconds) == 1 for row in rows)
    monkeypatch.setattr("sumpool.training.hardware.peak", Mock(side_effect=MemoryError))
    found = measure_shortening(SHORTENING, CONDITIONS, Steps())
    assert {row.note for row in found.rows["shortening"]} == {"out of memory"}
    table = found.tables[0]
    assert table.cells()[0] == ("1", "-", "-", "-", "-", "-", "-", "-")
    assert "4 was left out: out of memory" in table.notes


def test_ratios_stand_beside_those_of_the_paper() -> None:
    rows = [
        Row({"factor": 1, "memory": 200 * 2**20}, Timing((2.0,))),
        Row({"factor": 4, "memory": 50 * 2**20}, Timing((1.0,))),
    ]
    (table,) = shortening_result(rows, SHORTENING).tables
    assert table.cells()[1] == ("4", "1.000", "1.00", "0.50", "0.40", "50", "0.25", "0.47")
