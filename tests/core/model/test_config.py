import pytest
import torch
from pydantic import ValidationError

from sumpool.core.model.config import ModelConfig

LAYER = {"attention": {"kind": "vanilla"}}


def test_attentions_of_a_bounded_length_must_suit_documents() -> None:
    layers = [LAYER, {"attention": {"kind": "synthesizer", "length": 63}}]
    message = r"encoder\[1\].attention.length must be at least source_length = 64, got 63"
    with pytest.raises(ValidationError, match=message):
        ModelConfig.model_validate({"source_length": 64, "encoder": layers})
    assert ModelConfig.model_validate({"source_length": 63, "encoder": layers}).source_length == 63


def test_dim_must_suit_heads_and_positions() -> None:
    for dim, heads, message in (
        (64, 7, "heads must divide dim = 64, got 7"),
        (9, 3, "dim must be even for sinusoidal positions, got 9"),
    ):
        with pytest.raises(ValidationError, match=message):
            ModelConfig.model_validate({"dim": dim, "heads": heads, "encoder": [LAYER]})


def test_the_scorer_attention_mass_follows_an_attention_whose_weights_it_can_read() -> None:
    layer = {"attention": {"kind": "linformer"}, "pool": {"kind": "hard", "scorer": {"kind": "attention_mass"}}}
    message = "attention must have weights, as vanilla has, before the scorer attention_mass, got linformer"
    with pytest.raises(ValidationError, match=message):
        ModelConfig.model_validate({"encoder": [layer]})


def test_a_variant_keeps_its_settings_through_a_dump() -> None:
    config = ModelConfig.model_validate({"encoder": [{"attention": {"kind": "blockwise", "block": 7}}]})
    assert ModelConfig.model_validate(config.model_dump()) == config
    attention = config.model_dump()["encoder"][0]["attention"]
    assert attention == {"kind": "blockwise", "block": 7, "positions": "none"}


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"attention": {"kind": "lsh", "local_heads": 4}}, r"local_heads must be less than heads = 4, got 4; lower it"),
        ({"attention": {"kind": "vanilla", "positions": "rotary"}}, r"dim / heads must be even for rotary positions"),
        (
            {
                "attention": {"kind": "vanilla"},
                "pool": {"kind": "halving", "scorer": {"kind": "coordinate", "feature": 12}},
            },
            r"feature must be less than model\.dim = 12, got 12",
        ),
    ],
)
def test_a_layer_that_cannot_be_built_is_named(layer: dict[str, object], message: str) -> None:
    state = torch.random.get_rng_state()
    with pytest.raises(ValidationError, match=r"encoder\[1\]: " + message):
        ModelConfig.model_validate({"dim": 12, "heads": 4, "encoder": [{"attention": {"kind": "vanilla"}}, layer]})
    assert torch.equal(torch.random.get_rng_state(), state)
