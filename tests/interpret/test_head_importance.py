import pytest
import torch

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.head_pruning import attentions
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import Batch
from sumpool.errors import Interrupted
from sumpool.interpret.head_importance import head_gates, head_importance, normalise


def build() -> SummarizationModel:
    settings = {
        "dim": 16,
        "heads": 4,
        "feed_forward": 16,
        "source_length": 64,
        "target_length": 12,
        "encoder": [{"attention": {"kind": "blockwise", "block": 8}}],
        "decoder": {"layers": 1},
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
    assert list(importance) == [
        "encoder.layers.0.attention",
        "decoder.layers.0.attention",
        "decoder.layers.0.cross_attention",
    ]
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


def test_zeros_stay_zeros() -> None:
    assert normalise(torch.zeros(3)).tolist() == [0, 0, 0]
    assert normalise(torch.tensor([3.0, 4.0])).tolist() == pytest.approx([0.6, 0.8])


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
