import pytest
import torch

from sumpool.bench.measures import Timing
from sumpool.bench.results import Result, Row, unique, where
from sumpool.bench.workload import Conditions
from sumpool.core.model.config import ModelConfig
from sumpool.progress import Progress
from sumpool.studies.config import SparsityConfig
from sumpool.studies.sparsity import MODES, held_attention, measure_sparsity, needed, sparsity_result

SHORT = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
LONG = torch.tensor([[0.4, 0.3, 0.2, 0.1]])
MODEL = ModelConfig.model_validate(
    {"dim": 16, "heads": 2, "feed_forward": 16, "source_length": 4, "target_length": 2, "decoder": {"layers": 2},
     "encoder": [{"attention": {"kind": "vanilla"}}]}
)  # fmt: skip
LOSSES = [
    Row({"selection": "full", "nats": {1: 2.0, 5: 2.0}}),
    Row({"selection": "random", "nats": {1: 2.5, 5: 2.25}}),
]
SETTINGS = SparsityConfig(
    documents=2, sentences=1, reselect_every=(2, 3), length=8, targets=(1, 2, 3), surface_lengths=(4, 6, 8), repeats=1
)


@pytest.fixture(scope="module")
def measured() -> tuple[Result, list[Progress]]:
    conditions = Conditions(vocabulary=8, device=torch.device("cpu"), precision=torch.float32)
    heard: list[Progress] = []
    layers = [[SHORT, SHORT.flip(0)], [LONG, LONG]]
    return measure_sparsity(layers, LOSSES, MODEL, SETTINGS, conditions, heard.append), heard


def test_what_the_best_hold_is_a_mean_over_tokens_then_documents(
    measured: tuple[Result, list[Progress]],
) -> None:
    first, second = measured[0].rows["layers"]
    best, two = (0.5 + 0.7 + 0.5 + 0.6) / 4, (0.8 + 0.9 + 0.8 + 0.9) / 4
    expected = ((best + 0.4) / 2, (two + 0.7) / 2, (1 + 0.9) / 2, 1.0)
    assert first["kept"] == pytest.approx(expected, abs=1e-6)
    assert second["kept"] == first["kept"]
    assert needed(first["kept"], 0.9) == 3
    assert held_attention(first, 50) == pytest.approx(1)


def test_a_held_choice_agrees_where_the_best_sentence_stays(measured: tuple[Result, list[Progress]]) -> None:
    """The best sentences of the first document are 0, 2, 1, 0; of the second there is one token."""
    first, second = measured[0].rows["layers"]
    assert first["agreement"] == {2: pytest.approx((2 / 4 + 1) / 2), 3: pytest.approx((2 / 4 + 1) / 2)}
    assert second["agreement"][3] == pytest.approx((2 / 4 + 1) / 2)  # 0, 1, 2, 0 and a new choice at the fourth


def test_every_length_is_timed(measured: tuple[Result, list[Progress]]) -> None:
    found, heard = measured
    times = found.rows["times"]
    assert [len(where(times, {"mode": mode})) for mode in MODES] == [3, 3, 3]
    assert len(where(times, {"mode": "surface"})) == 9
    assert unique(found.rows["modes"], "mode") == [*MODES]
    assert heard[-1].done == heard[-1].total == 2 + (9 + 9) * 2


def test_tables_stand_beside_those_of_the_paper(measured: tuple[Result, list[Progress]]) -> None:
    kept, losses, agreement, times, surface = measured[0].tables
    assert losses.headings() == ["selection", "1 sentence", "5 sentences"]
    assert losses.cells() == [("full", "2.00000", "2.00000"), ("random", "2.50000", "2.25000")]
    assert kept.headings() == ["sentences", "layer 1", "layer 2"]
    assert kept.cells()[1] == ("2", "0.775", "0.775")
    assert kept.cells()[-1] == ("for 90 %", "3", "3")
    assert agreement.cells()[0] == ("2", "75.0 %", "75.0 %")
    assert times.cells()[2][0] == "inference"
    assert times.cells()[2][-2:] == ("9.96", "1.30")
    assert surface.cells()[1][2] == "0.00378"


def test_what_is_not_known_is_not_told() -> None:
    def times(mode: str, seconds: float) -> list[Row]:
        labels = [{"mode": mode, "target": target, "length": length} for target in (1, 2, 3) for length in (4, 6, 8)]
        return [Row(label, Timing((seconds * label["target"],))) for label in labels]  # type: ignore[operator]

    kept = [Row({"layer": 1, "kept": (1.0,), "agreement": {2: None, 3: None}})]
    measured = [row for mode in (*MODES, "surface") for row in times(mode, -1.0)]
    facts = {"documents": 1, "mean_sentences": 1.0}
    _, _, agreement, modes, _ = sparsity_result(kept, LOSSES, measured, facts, SETTINGS).tables
    assert [cells[1] for cells in agreement.cells()] == ["-", "-"]
    assert modes.cells()[0][1:3] == ("-", "-")
