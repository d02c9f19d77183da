import re

import pytest
import torch
from torch import nn

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.errors import CheckpointError
from sumpool.training.initial_weights import adopt_weights, select_by_words
from sumpool.training.weights import set_weights, weights_of
from tests.training.toy import VOCABULARY, new_model


def test_a_shared_tensor_is_saved_once_and_stays_shared() -> None:
    model = new_model()
    weights = {name: tensor.clone() for name, tensor in weights_of(model).items()}
    assert len(weights) == len({id(parameter) for parameter in model.parameters()})
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    set_weights(model, weights, "here")
    assert all(torch.equal(tensor, weights[name]) for name, tensor in weights_of(model).items())
    assert model.encoder.embed.embedding.weight is model.embedding.weight


def test_weights_of_another_model_are_an_error() -> None:
    for saved, message in (
        ({"weight": torch.zeros(2, 3)}, "here: bias must be (2,) float32 in this model, got absent"),
        (
            {"weight": torch.zeros(2, 4), "bias": torch.zeros(2)},
            "weight must be (2, 3) float32 in this model, got (2, 4)",
        ),
        (
            {"weight": torch.zeros(2, 3), "bias": torch.zeros(2).half()},
            "bias must be (2,) float32 in this model, got (2,) float16",
        ),
        ({"weight": torch.zeros(2, 3), "bias": torch.zeros(2), "zoom": torch.zeros(1)}, "zoom must be absent"),
    ):
        model = nn.Linear(3, 2)
        before = model.weight.clone()
        with pytest.raises(CheckpointError, match=re.escape(message)):
            set_weights(model, saved, "here")
        assert torch.equal(model.weight, before)


def test_matching_weights_of_another_model_are_copied() -> None:
    model = nn.Linear(3, 2)
    bias = model.bias.clone()
    saved = {"weight": torch.ones(2, 3), "zoom": torch.zeros(1)}
    assert adopt_weights(model, saved, "here") == (["bias"], ["zoom"])
    assert torch.equal(model.weight, saved["weight"])
    assert torch.equal(model.bias, bias)
    with pytest.raises(CheckpointError, match=r"here: weight must be \(2, 3\) float32 in this model, got \(3, 3\)"):
        adopt_weights(model, {"weight": torch.zeros(3, 3), "bias": torch.zeros(2)}, "here")
    assert torch.equal(model.bias, bias)


def test_selections_are_initialised_from_word_projections() -> None:
    full = new_model()
    settings = full.config.model_dump()
    settings["decoder"]["cross_attention"] = {"kind": "sentence", "selection": {"kind": "approximate"}}
    config = ModelConfig.model_validate(settings)
    model, saved = SummarizationModel(config, VOCABULARY), weights_of(full)
    missing, unused = adopt_weights(model, select_by_words(weights_of(model), saved), "here")
    assert missing == [
        f"decoder.memory_encoder.encoder.{name}.{part}" for name in ("out", "weigh") for part in ("bias", "weight")
    ]
    assert unused == []
    cross_attention = full.decoder.layers[0].get_submodule("cross_attention")
    states = torch.randn(3, config.dim)
    selection = model.decoder.layers[0].get_submodule("cross_attention.selection")
    key = cross_attention.get_submodule("key_value")(states).chunk(2, dim=-1)[0]
    torch.testing.assert_close(selection.get_submodule("query")(states), cross_attention.get_submodule("query")(states))
    torch.testing.assert_close(selection.get_submodule("key")(states), key)


def test_saved_selections_are_kept() -> None:
    saved = {f"a.{name}.weight": torch.zeros(2) for name in ("query", "key_value", "selection.query")}
    weights = select_by_words(["a.selection.query.weight", "a.selection.weigh.weight", "b.selection.key.weight"], saved)
    assert weights == saved
