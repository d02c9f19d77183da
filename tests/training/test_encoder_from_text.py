"""An encoder that begins with a language model: the same states and boundaries where the attention is the same."""

import torch
from torch import Tensor, nn

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.language_model import LanguageModel
from sumpool.core.model.language_model_config import LanguageModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.training.encoder_from_text import as_encoder, is_language_model
from sumpool.training.weights import adopt_weights, weights_of

BOUNDARIES = {"kind": "gumbel", "hidden": 8}
ATTENTION = {"kind": "blockwise", "block": 64, "causal": True}


def language_model(layers: tuple[int, ...] = (2, 1, 1)) -> LanguageModel:
    torch.manual_seed(1)
    tree = {
        **{"dim": 16, "heads": 2, "feed_forward": 32, "positions": "sinusoidal", "layers": layers, "length": 64},
        "boundaries": [BOUNDARIES] * (len(layers) // 2),
    }
    return LanguageModel(LanguageModelConfig.model_validate(tree), 300).eval()


def summarizer() -> SummarizationModel:
    torch.manual_seed(2)
    pool = {"kind": "segments", "boundaries": BOUNDARIES}
    tree = {
        **{"dim": 16, "heads": 2, "feed_forward": 32, "norm": "post", "source_length": 64, "target_length": 8},
        "encoder": [{"attention": ATTENTION}, {"attention": ATTENTION, "pool": pool}, {"attention": ATTENTION}],
    }
    return SummarizationModel(ModelConfig.model_validate(tree), 300).eval()


def output_of(model: nn.Module, name: str, *inputs: Tensor) -> Tensor:
    """Output of a module during the forward pass of a model."""
    outputs: list[Tensor] = []
    hook = model.get_submodule(name).register_forward_hook(lambda *arguments: outputs.append(arguments[2]))
    with torch.no_grad():
        model(*inputs)
    hook.remove()
    return outputs[0]


def test_states_and_boundaries_are_those_of_the_language_model() -> None:
    before, after = language_model(), summarizer()
    adopt_weights(after, as_encoder(weights_of(after), weights_of(before)), "run")
    ids = torch.randint(5, 300, (2, 20), generator=torch.Generator().manual_seed(3))
    mask, zeros = torch.ones_like(ids, dtype=torch.bool), torch.zeros_like(ids)
    name = "boundaries.predictor.widen"
    predicted = output_of(before, f"layers.{name}", ids, mask, zeros, ids)
    again = output_of(after, f"encoder.poolers.1.{name}", ids, mask, zeros, ids[:, :4])
    torch.testing.assert_close(again, predicted)
    fresh = output_of(summarizer(), f"encoder.poolers.1.{name}", ids, mask, zeros, ids[:, :4])
    assert not torch.allclose(fresh, predicted)


def test_weights_without_a_counterpart_are_told() -> None:
    before, after = language_model(), summarizer()
    fresh, left_out = adopt_weights(after, as_encoder(weights_of(after), weights_of(before)), "run")
    assert not [name for name in fresh if name.startswith(("encoder.layers", "encoder.poolers", "embedding"))]
    assert {name.split(".")[1] for name in left_out if name.startswith("layers.")} == {"after", "norm", "null"}
    assert any(name.startswith("decoder.") for name in fresh)


def test_layers_of_all_levels_follow_each_other() -> None:
    for layers in ((1,), (1, 1, 1), (1, 2, 1, 1, 1)):
        saved = weights_of(language_model(layers))
        renamed = as_encoder((), saved)
        count = sum(layers[: len(layers) // 2 + 1])
        numbers = {int(name.split(".")[2]) for name in renamed if name.startswith("encoder.layers.")}
        assert numbers == set(range(count))
        poolers = {int(name.split(".")[2]) for name in renamed if name.startswith("encoder.poolers.")}
        assert poolers == {sum(layers[: level + 1]) - 1 for level in range(len(layers) // 2)}


def test_only_language_models_are_renamed() -> None:
    assert is_language_model(weights_of(language_model()))
    assert not is_language_model(weights_of(summarizer()))
