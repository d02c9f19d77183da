import math

import pytest
import torch
from torch import Tensor

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import Batch
from sumpool.errors import Interrupted
from sumpool.workflows.prune import (
    attentions,
    choose_heads,
    hard_concrete,
    head_gates,
    head_importance,
    mask_heads,
    open_probability,
    train_gates,
    unmasked_heads,
)

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


def test_no_documents() -> None:
    with pytest.raises(ValueError, match="documents must not be empty"):
        head_importance(build(), [])


def test_a_signal_ends_it() -> None:
    def check() -> None:
        raise Interrupted(15)

    model = build()
    with pytest.raises(Interrupted, match="SIGTERM"):
        head_importance(model, [document(5, 2)], check)
    assert not any(module._forward_pre_hooks for module in model.modules())


@pytest.mark.parametrize("cross_attention", ["full", "hepos", "sentence"])
def test_masked_heads_are_those_with_gate_zero(cross_attention: str) -> None:
    model, batch = build(cross_attention), document(20, 5)
    masked = dict(zip(NAMES, ([1, 3], [], [0]), strict=True))
    with head_gates(model) as gates:
        for name, heads in masked.items():
            gates[name][heads] = 0.0
        expected = loss(model, batch)
    assert abs(expected - loss(model, batch)) > 1e-6
    mask_heads(model, masked)
    assert loss(model, batch) == pytest.approx(expected, abs=1e-10)
    assert list(unmasked_heads(model).values()) == [(0, 2), (0, 1, 2, 3), (1, 2, 3)]


def importance_of(*values: list[float]) -> dict[str, Tensor]:
    return {name: torch.tensor(row) for name, row in zip("ab", values, strict=True)}


EVERY = {"a": (0, 1, 2, 3), "b": (0, 1, 2, 3)}


def test_the_least_important_heads_are_masked() -> None:
    values = importance_of([0.9, 0.1, 0.2, 0.8], [0.3, 0.05, 0.7, 0.6])
    assert choose_heads(values, EVERY, 0.25) == {"a": (1,), "b": (1,)}
    assert choose_heads(values, EVERY, 0.5) == {"a": (1, 2), "b": (0, 1)}
    assert choose_heads(values, EVERY, 0.75) == {"a": (1, 2, 3), "b": (0, 1, 3)}
    assert choose_heads(values, {"a": (0, 3), "b": (2,)}, 0.3) == {"a": (3,), "b": ()}


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
    mask_heads(model, {name: [0, 2] for name in NAMES})
    trained = train_gates(model, [document(20, 5) for _ in range(150)], 0.01)
    for probabilities in trained.values():
        assert probabilities[[0, 2]].max() < 0.1
    assert max(float(probabilities[[1, 3]].max()) for probabilities in trained.values()) > 0.9
