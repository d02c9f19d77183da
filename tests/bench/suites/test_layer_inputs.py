from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from sumpool.bench.suites import layer_inputs
from sumpool.bench.suites.layer_inputs import trained_inputs
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.items import Item
from sumpool.errors import RecipeError


def loaded(monkeypatch: pytest.MonkeyPatch, *kinds: str) -> Any:  # noqa: ANN401 - a part of a loaded run
    """A model with random weights, one encoder layer of each kind, and three documents of 40 tokens."""
    sizes = {"dim": 16, "heads": 2, "feed_forward": 16, "source_length": 30, "target_length": 8}
    encoder = [{"attention": {"kind": kind}} for kind in kinds]
    config = ModelConfig.model_validate({**sizes, "decoder": {"layers": 1}, "encoder": encoder})
    random = np.random.default_rng(1)
    items = [Item(str(n), random.integers(9, 50, 40), np.arange(40) // 9, random.integers(9, 50, 7)) for n in range(3)]
    monkeypatch.setattr(layer_inputs, "validation_shard", Mock(return_value=items))
    return SimpleNamespace(
        model=SummarizationModel(config, 50).eval(), recipe=SimpleNamespace(model=config), device=torch.device("cpu")
    )


def test_inputs_are_those_of_whole_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    run = loaded(monkeypatch, "blockwise", "v_mean", "vanilla")
    encoder = run.model.encoder
    assert encoder.chunked
    inputs = [*trained_inputs(run, 2)]
    assert encoder.chunked
    assert len(inputs) == 2 * 2  # two documents, two layers with queries, keys and values
    assert [layer.states.shape for layer in inputs] == [(1, 30, 16)] * 4
    assert torch.equal(inputs[0].weight, encoder.layers[0].attention.project.weight)
    assert torch.equal(inputs[1].weight, encoder.layers[2].attention.project.weight)
    assert not torch.equal(inputs[0].states, inputs[2].states)
    assert not encoder.layers[0].attention._forward_pre_hooks
    norms = inputs[0].states.std(2, correction=0)  # pre-norm
    torch.testing.assert_close(norms, torch.ones_like(norms), atol=1e-2, rtol=0)


def test_layers_without_queries_and_keys_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecipeError, match="encoder must have a layer whose attention has queries, keys and values"):
        [*trained_inputs(loaded(monkeypatch, "v_mean"), 2)]
