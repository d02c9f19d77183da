from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from sumpool.cli.app import app
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import Batch
from sumpool.studies.heads import attentions, head_gates, head_importance, least_important
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


def test_gates_of_one_change_nothing_and_are_removed() -> None:
    model, batch = build(), document(20, 5)
    before = loss(model, batch)
    with head_gates(model) as gates:
        assert loss(model, batch) == before
        gates["encoder.layers.0.attention"].zero_()
        assert loss(model, batch) != before
    assert loss(model, batch) == before


def test_a_document_without_tokens_has_finite_importance() -> None:
    empty = document(3, 4)
    batch = Batch(empty.ids, torch.zeros_like(empty.mask), empty.sentences, empty.target, ("empty",))
    assert all(values.isfinite().all() for values in head_importance(build(), [batch]).values())


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


@pytest.mark.slow
def test_importance_and_losses_of_a_run(trained: Path) -> None:
    run = trained / "run"
    found = run_study("heads", run, overrides=["study.documents=3", "study.share=0.5"]).result
    before, after = found.rows["losses"]
    total = sum(len(row["importance"]) for row in found.rows["heads"])
    assert (before["heads"], before["masked"]) == (total, 0)
    assert after["heads"] + after["masked"] == total
    assert after["masked"] == sum(len(row["masked"]) for row in found.rows["heads"]) > 0
    assert before["loss"] != after["loss"]
    for row in found.rows["heads"]:
        assert sum(value**2 for value in row["importance"]) == pytest.approx(1)
    result = CliRunner().invoke(app, ["study", "heads", str(run), "--set", "study.documents=3"])
    assert "decoder.layers.0.cross_attention" in result.stdout
    assert result.stdout.count("*") == 1 + round(0.3 * total)
