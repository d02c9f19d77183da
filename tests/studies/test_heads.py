import math
from pathlib import Path

import pytest
import torch
from torch import Tensor
from typer.testing import CliRunner

from sumpool.cli.app import app
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import Batch
from sumpool.studies import heads
from sumpool.studies.heads import (
    attentions,
    hard_concrete,
    head_gates,
    head_importance,
    least_important,
    open_probability,
    train_gates,
)
from sumpool.studies.run import run_study

NAMES = ["encoder.layers.0.attention", "decoder.layers.0.attention", "decoder.layers.0.cross_attention"]


def build(cross_attention: str = "full") -> SummarizationModel:
    settings = {
        "dim": 16,
        "heads": 4,
        "feed_forward": 16,
        "source_length": 64,
        "target_length": 12,
        "encoder": [{"attention": {"kind": "blockwise", "block": 8}}],
        "decoder": {"layers": 1, "cross_attention": {"kind": cross_attention}},
    }
    torch.manual_seed(1)
    return SummarizationModel(ModelConfig.model_validate(settings), 30).double().eval().requires_grad_(False)


def document(length: int, target: int) -> Batch:
    ids = torch.randint(4, 30, (1, length))
    return Batch(ids, ids > 0, torch.zeros_like(ids), torch.randint(4, 30, (1, target)), (f"d{length}",))


def loss(model: SummarizationModel, batch: Batch) -> float:
    assert batch.target is not None
    scores, *_ = model(batch.ids, batch.mask, batch.sentences, batch.target)
    return float(scores.nll) / batch.target.numel()


def test_importance_is_the_mean_absolute_derivative_by_the_gate() -> None:
    model = build()
    batches = [document(20, 5), document(33, 8), document(1, 2)]
    importance = head_importance(model, batches)
    expected = {name: torch.zeros(4, dtype=torch.float64) for name in attentions(model)}
    with head_gates(model) as gates:
        for name, gate in gates.items():
            for head in range(4):
                for batch in batches:
                    losses = []
                    for step in (1e-5, -1e-5):
                        gate[head] = 1 + step
                        losses.append(loss(model, batch))
                    gate[head] = 1
                    expected[name][head] += abs(losses[0] - losses[1]) / 2e-5 / len(batches)
    assert list(importance) == NAMES
    for name, values in importance.items():
        torch.testing.assert_close(values, expected[name] / expected[name].norm(), atol=1e-6, rtol=1e-5)
    empty = document(3, 4)
    batch = Batch(empty.ids, torch.zeros_like(empty.mask), empty.sentences, empty.target, ("empty",))
    assert all(values.isfinite().all() for values in head_importance(model, [batch]).values())


def test_gates_of_one_change_nothing_and_are_removed() -> None:
    model, batch = build(), document(20, 5)
    before = loss(model, batch)
    with head_gates(model) as gates:
        assert loss(model, batch) == before
        gates["encoder.layers.0.attention"].zero_()
        assert loss(model, batch) != before
    assert loss(model, batch) == before


@pytest.mark.parametrize("cross_attention", ["full", "hepos", "sentence"])
def test_a_closed_gate_is_a_head_without_output(cross_attention: str) -> None:
    model, batch = build(cross_attention), document(20, 5)
    masked = dict(zip(NAMES, ([1, 3], [], [0]), strict=True))
    with head_gates(model) as gates:
        for name, heads in masked.items():
            gates[name][heads] = 0.0
        expected = loss(model, batch)
    assert abs(expected - loss(model, batch)) > 1e-6
    for name, attention in attentions(model).items():
        attention.out.weight.unflatten(1, (4, -1))[:, masked[name]] = 0.0
    assert loss(model, batch) == pytest.approx(expected, abs=1e-10)


def test_the_least_important_heads_are_masked() -> None:
    values = {"a": torch.tensor([0.9, 0.1, 0.2, 0.8]), "b": torch.tensor([0.3, 0.05, 0.7, 0.6])}
    assert least_important(values, 0.25) == {"a": [1], "b": [1]}
    assert least_important(values, 0.5) == {"a": [1, 2], "b": [0, 1]}
    assert least_important(values, 0.9) == {"a": [1, 2, 3], "b": [0, 1, 3]}  # each keeps one


def concrete(parameter: float, uniform: Tensor) -> Tensor:
    """Equations 10 and 11 of Louizos et al. (2018), with the limits and the temperature of Voita et al. (2019)."""
    binary = 1 / (1 + torch.exp(-(uniform.log() - (1 - uniform).log() + parameter) / 0.33))
    return (binary * 1.2 - 0.1).clip(0, 1)


@pytest.mark.parametrize("parameter", [-2.0, 0.0, 1.5])
def test_gates_have_a_hard_concrete_distribution(parameter: float) -> None:
    uniform = (torch.arange(200_000, dtype=torch.float64) + 0.5) / 200_000
    gates = hard_concrete(torch.full_like(uniform, parameter), uniform)
    torch.testing.assert_close(gates, concrete(parameter, uniform), atol=1e-14, rtol=0)
    probability = float(open_probability(torch.tensor(parameter, dtype=torch.float64)))
    assert float((gates > 0).double().mean()) == pytest.approx(probability, abs=1e-5)


def test_an_update_follows_the_derivative_of_loss_and_expected_open_gates() -> None:
    """Adam's first update has the learning rate and the sign of the derivative, here by finite differences."""
    model, batch, penalty = build(), document(20, 5), 0.02
    draw = torch.Generator().manual_seed(0)
    uniforms = {name: torch.rand(4, generator=draw).double() for name in NAMES}

    def objective(name: str, head: int, parameter: float) -> float:
        with head_gates(model) as gates:
            for other, gate in gates.items():
                gate.copy_(torch.stack([concrete(2.0, uniform) for uniform in uniforms[other]]))
            gates[name][head] = concrete(parameter, uniforms[name][head])
            return loss(model, batch) + penalty / (1 + math.exp(-parameter + 0.33 * math.log(0.1 / 1.1)))

    trained = train_gates(model, [batch], penalty)
    for name in NAMES:
        for head in range(4):
            derivative = (objective(name, head, 2 + 1e-5) - objective(name, head, 2 - 1e-5)) / 2e-5
            expected = 2 - math.copysign(0.05, derivative)
            assert float(trained[name][head]) == pytest.approx(
                1 / (1 + math.exp(-expected + 0.33 * math.log(0.1 / 1.1))), abs=1e-6
            )


def test_gates_of_heads_without_effect_close() -> None:
    model = build()
    for attention in attentions(model).values():
        attention.out.weight.unflatten(1, (4, -1))[:, [0, 2]] = 0.0
    trained = train_gates(model, [document(20, 5) for _ in range(150)], 0.01)
    for probabilities in trained.values():
        assert probabilities[[0, 2]].max() < 0.1
    assert max(float(probabilities[[1, 3]].max()) for probabilities in trained.values()) > 0.9


def test_importance_and_gates_of_a_run(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ["study.documents=3", "study.share=0.5", "study.gates=20", "study.penalty=0.05"]
    found = run_study("heads", trained / "run", overrides=settings)
    rows, (before, by_importance, by_gates) = found.result.rows["heads"], found.result.rows["losses"]
    assert [row["by"] for row in (before, by_importance, by_gates)] == [None, "importance", "gates"]
    total = sum(len(row["importance"]) for row in rows)
    assert (before["heads"], before["masked"]) == (total, 0)
    assert by_importance["masked"] == sum(len(row["masked"]) for row in rows) > 0
    assert by_gates["masked"] == by_importance["masked"] == total - by_importance["heads"]
    assert by_gates["loss"] != before["loss"] != by_importance["loss"]
    assert [sum(value**2 for value in row["importance"]) for row in rows] == [pytest.approx(1)] * len(rows)
    probabilities = [value for row in rows for value in row["gates"]]
    assert len(probabilities) == total
    assert all(0 < value < 1 for value in probabilities)
    assert len(set(probabilities)) > 1
    table, _ = found.result.tables
    assert table.columns[2].heading == "probability of open gates"
    assert "".join(cells[2] for cells in table.cells()).count("*") == by_gates["masked"]
    # without gates, losses and importance are the same, and heads are masked by gates as if these were the importance
    alone = run_study("heads", trained / "run", overrides=settings[:2]).result.rows
    assert [row["importance"] for row in alone["heads"]] == [row["importance"] for row in rows]
    assert [row["loss"] for row in alone["losses"]] == [before["loss"], by_importance["loss"]]
    shown = CliRunner().invoke(app, ["study", "heads", str(trained / "run"), "--set", "study.documents=3"]).stdout
    assert "decoder.layers.0.cross_attention" in shown
    assert "open gates" not in shown
    assert shown.count("*") == 1 + round(0.3 * total)
    as_importance = {row["attention"]: torch.tensor(row["gates"]) for row in rows}
    monkeypatch.setattr(heads, "head_importance", lambda *_: as_importance)
    masked = run_study("heads", trained / "run", overrides=settings[:2]).result.rows["losses"][1]
    assert masked["loss"] == by_gates["loss"]
