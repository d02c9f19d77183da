from dataclasses import replace

import pytest
import torch

from sumpool.bench.config import SparsityConfig
from sumpool.bench.measures.regression import Regression
from sumpool.bench.suites.sparsity import measure_sparsity
from sumpool.bench.suites.sparsity_rows import FoundSparsity, KeptRow, LossRow, ModeRow
from sumpool.bench.systems.workload import Conditions
from sumpool.core.model.config import ModelConfig
from sumpool.progress import Progress

SHORT = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
LONG = torch.tensor([[0.4, 0.3, 0.2, 0.1]])
MODEL = ModelConfig.model_validate(
    {"dim": 16, "heads": 2, "feed_forward": 16, "source_length": 4, "target_length": 2, "decoder": {"layers": 2},
     "encoder": [{"attention": {"kind": "vanilla"}}]}
)  # fmt: skip
LOSSES = [LossRow("full", {1: 2.0, 5: 2.0}), LossRow("random", {1: 2.5, 5: 2.25})]


@pytest.fixture(scope="module")
def measured() -> tuple[FoundSparsity, list[Progress]]:
    settings = SparsityConfig(
        documents=2, sentences=1, holds=(2, 3), length=8, targets=(1, 2, 3), surface_lengths=(4, 6, 8), repeats=1
    )
    conditions = Conditions(vocabulary=8, device=torch.device("cpu"), precision=torch.float32)
    heard: list[Progress] = []
    layers = [[SHORT, SHORT.flip(0)], [LONG, LONG]]
    return measure_sparsity(layers, LOSSES, MODEL, settings, conditions, heard.append), heard


def test_what_the_best_hold_is_a_mean_over_tokens_then_documents(
    measured: tuple[FoundSparsity, list[Progress]],
) -> None:
    first, second = measured[0].layers
    best, two = (0.5 + 0.7 + 0.5 + 0.6) / 4, (0.8 + 0.9 + 0.8 + 0.9) / 4
    expected = ((best + 0.4) / 2, (two + 0.7) / 2, (1 + 0.9) / 2, 1.0)
    assert first.kept == pytest.approx(expected, abs=1e-6)
    assert second.kept == first.kept
    assert first.needed(0.9) == 3
    assert first.at(50) == pytest.approx(1)


def test_a_held_choice_agrees_where_the_best_sentence_stays(measured: tuple[FoundSparsity, list[Progress]]) -> None:
    """The best sentences of the first document are 0, 2, 1, 0; of the second there is one token."""
    first, second = measured[0].layers
    assert first.agreement == {2: pytest.approx((2 / 4 + 1) / 2), 3: pytest.approx((2 / 4 + 1) / 2)}
    assert second.agreement[3] == pytest.approx((2 / 4 + 1) / 2)  # 0, 1, 2, 0 and a new choice at the fourth


def test_every_length_is_timed(measured: tuple[FoundSparsity, list[Progress]]) -> None:
    found, heard = measured
    assert [len(mode.times) for mode in found.modes] == [3, 3, 3]
    assert len(found.surface.times) == len(found.surface.places) == 9
    assert len(found.surface.fitted.coefficients) == 6
    assert heard[-1].done == heard[-1].total == 2 + (9 + 9) * 2


def test_tables_stand_beside_those_of_the_paper(measured: tuple[FoundSparsity, list[Progress]]) -> None:
    kept, losses, held, times, surface = measured[0].tables()
    assert losses.columns == ("selection", "1 sentence", "5 sentences")
    assert losses.rows == (("full", "2.00000", "2.00000"), ("random", "2.50000", "2.25000"))
    assert kept.columns == ("sentences", "layer 1", "layer 2")
    assert kept.rows[1] == ("2", "0.775", "0.775")
    assert kept.rows[-1] == ("for 90 %", "3", "3")
    assert held.rows[0] == ("2", "75.0 %", "75.0 %")
    assert times.rows[2][0] == "inference"
    assert times.rows[2][-2:] == ("9.96", "1.30")
    assert surface.rows[1][2] == "0.00378"


def test_what_is_not_known_is_not_told(measured: tuple[FoundSparsity, list[Progress]]) -> None:
    noise = ModeRow("forward", (1.0, 2.0, 3.0), Regression((-1.0, 1.0, 1.0), 0.5))
    layers = (KeptRow(1, (1.0,), {2: None, 3: None}),)
    _, _, held, times, _ = replace(measured[0], layers=layers, modes=(noise,)).tables()
    assert [row[1] for row in held.rows] == ["-", "-"]
    assert times.rows[0][1:3] == ("-", "-")
