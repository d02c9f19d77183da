import json
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import nn

from sumpool.bench.workload import Conditions
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.pooling.halving import HalvingPoolerConfig
from tests.scripts import load_script

CI = Path(__file__).parents[2] / ".ci"
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


@pytest.fixture
def counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script with other budgets, and little to generate."""
    script = load_script(".ci/counts.py")
    monkeypatch.setattr(script, "BUDGETS", tmp_path / "counts.json")
    monkeypatch.setattr(script, "TOKENS", 2)
    return script


@pytest.fixture
def cheap(counts: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script with models whose costs are easily written down."""
    monkeypatch.setattr(counts, "count_model", lambda config, _conditions: {"encode calls": len(config.encoder)})
    return counts


@pytest.mark.parametrize(("budget", "code"), [(2, 1), (3, 0), (4, 0)])
def test_what_exceeds_its_budget_is_said_and_how_to_accept_it(
    cheap: ModuleType, capsys: pytest.CaptureFixture[str], budget: int, code: int
) -> None:
    cheap.main(accept=True)
    accepted = json.loads(cheap.BUDGETS.read_text())
    cheap.BUDGETS.write_text(json.dumps(accepted | {"quickstart.yaml": {"encode calls": budget}}))
    assert cheap.main(accept=False) == code
    assert (
        capsys.readouterr().out.splitlines()
        == [
            "quickstart.yaml: encode calls must be at most 2 (+2%), got 3 (+50.0%)",
            "1 costs exceed the budgets of .ci/counts.json; to accept them: .venv/bin/python .ci/counts.py --accept",
        ][: 2 * code]
    )


def test_the_committed_budgets_are_of_the_same_recipes_and_torch(counts: ModuleType) -> None:
    budgets = json.loads((CI / "counts.json").read_text())
    assert list(budgets) == ["torch", *counts.RECIPES]
    assert f"torch=={budgets['torch']}\n" in (CI.parent / "constraints.txt").read_text()


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(DIM, WIDE), nn.ReLU(), nn.Linear(WIDE, 1))


def test_reading_holds_what_a_layer_is_given_and_what_it_makes(counts: ModuleType) -> None:
    model, states = network(), torch.randn(BATCH, DIM)
    for context in (torch.no_grad, torch.inference_mode):
        with context(), counts.Tally() as tally:
            model(states)
        assert tally.most == 2 * BATCH * WIDE * FLOAT
        assert tally.held == 0
        assert tally.calls >= 3  # two maps and a ReLU


@pytest.mark.slow
def test_a_wasteful_step_is_found(counts: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    before = counts.count_model(CONFIG, CONDITIONS)
    step = SummarizationModel.step

    def waste(self, last, state):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        log_probs, state = step(self, last, state)
        return log_probs.sin().asin(), state

    monkeypatch.setattr(SummarizationModel, "step", waste)
    monkeypatch.setattr(counts, "MARGIN", 0.0)
    over = counts.exceeded(before, counts.count_model(CONFIG, CONDITIONS))
    assert [sentence.split(" must")[0] for sentence in over] == ["generate calls", "step calls"]


def test_costs_within_the_margin_pass(counts: ModuleType) -> None:
    budgets = {"train calls": 200, "encode bytes": 700}
    assert counts.exceeded(budgets, {"train calls": 204, "encode bytes": 10}) == []
    assert counts.exceeded(budgets, {"train calls": 205, "step calls": 1}) == [
        "train calls must be at most 200 (+2%), got 205 (+2.5%)",
        "step calls must have a budget, got 1 without one",
    ]
