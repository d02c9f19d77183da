import pytest
import torch
from torch import nn

from sumpool.bench.measures.counts import Tally, count_model, count_work, differences
from sumpool.bench.systems.workload import Conditions
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.pooling.halving import HalvingPoolerConfig

FLOAT = 4
"""Bytes of a number."""
BATCH, DIM, WIDE = 5, 10, 100
CONDITIONS = Conditions(vocabulary=40, device=torch.device("cpu"), precision=torch.float32)
CONFIG = ModelConfig(
    dim=16,
    heads=2,
    feed_forward=32,
    source_length=32,
    encoder=(
        EncoderLayerConfig(attention=BlockwiseAttentionConfig(block=8), pool=HalvingPoolerConfig(keep=8)),
        EncoderLayerConfig(attention=BlockwiseAttentionConfig(block=8)),
    ),
    decoder=DecoderConfig(layers=1),
)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let little be written."""
    monkeypatch.setattr("sumpool.bench.measures.counts.TOKENS", 2)


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(DIM, WIDE), nn.ReLU(), nn.Linear(WIDE, 1))


def test_reading_holds_what_a_layer_is_given_and_what_it_makes() -> None:
    model, states = network(), torch.randn(BATCH, DIM)
    for context in (torch.no_grad, torch.inference_mode):
        with context(), Tally() as tally:
            model(states)
        assert tally.most == 2 * BATCH * WIDE * FLOAT
        assert tally.held == 0
        assert (tally.calls["addmm"], tally.calls["relu"]) == (2, 1)


def test_training_holds_what_the_way_back_needs() -> None:
    model, states = network(), torch.randn(BATCH, DIM)
    with Tally() as tally:
        found = model(states).sum()
        assert tally.held == (BATCH * WIDE + 1) * FLOAT  # what the ReLU made, and what was found
        torch.autograd.backward(found)
        assert tally.held == (sum(weights.numel() for weights in model.parameters()) + 1) * FLOAT  # gradients
        model.zero_grad(set_to_none=True)
    assert tally.held == FLOAT


def test_what_is_changed_in_place_or_seen_otherwise_is_no_new_memory() -> None:
    states = torch.randn(BATCH, DIM)
    with Tally() as tally:
        states.add_(1).view(-1)[3:].zero_()
    assert tally.most == 0
    with Tally() as tally:
        doubled = states * 2
        doubled.t().mul_(3)
    assert tally.most == BATCH * DIM * FLOAT


def test_a_work_is_counted_the_same_every_time() -> None:
    model, states = network(), torch.randn(BATCH, DIM)
    found = count_work(lambda: torch.autograd.backward(model(states).sum()))
    assert found == count_work(lambda: torch.autograd.backward(model(states).sum()))
    assert found["operations"] == 2 * BATCH * (2 * DIM * WIDE + 3 * WIDE)
    assert found["calls"] == sum(number for name, number in found.items() if name.startswith("calls "))


def test_a_model_is_counted_the_same_every_time() -> None:
    found = count_model(CONFIG, CONDITIONS)
    assert found == count_model(CONFIG, CONDITIONS)
    for work in ("encode", "train", "write"):
        assert all(found[f"{work} {cost}"] > 0 for cost in ("operations", "bytes", "calls"))
    assert found["encode operations"] < found["train operations"]
    assert 0 < found["step operations"] < found["write operations"]


def test_a_wasteful_step_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    before = count_model(CONFIG, CONDITIONS)
    step = SummarizationModel.step

    def waste(self, last, state):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        log_probs, state = step(self, last, state)
        return log_probs.sin().asin(), state

    monkeypatch.setattr(SummarizationModel, "step", waste)
    found = differences(before, count_model(CONFIG, CONDITIONS))
    assert "step calls asin grew from 0 to 1" in found
    assert any(sentence.startswith("step calls grew from") for sentence in found)
    assert not any(sentence.startswith(("encode", "train")) for sentence in found)


def test_differences_are_sentences() -> None:
    before = {"train calls": 200, "train calls cat": 4, "encode bytes": 7}
    now = {"train calls": 205, "encode bytes": 7, "step calls": 1}
    assert differences(before, now) == [
        "train calls grew from 200 to 205 (+2.5%)",
        "train calls cat shrank from 4 to 0 (-100.0%)",
        "step calls grew from 0 to 1",
    ]
    assert differences(now, now) == []
