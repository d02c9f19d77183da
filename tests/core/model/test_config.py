import pytest
import torch
from pydantic import ValidationError

from sumpool.core.model.config import ModelConfig

LAYER = {"attention": {"kind": "vanilla"}}
SYNTHESIZER = [LAYER, {"attention": {"kind": "synthesizer", "length": 63}}]
MASS = {"attention": {"kind": "linformer"}, "pool": {"kind": "hard", "scorer": {"kind": "attention_mass"}}}
LSH = {"attention": {"kind": "lsh", "local_heads": 4}}
ROTARY = {"attention": {"kind": "vanilla", "positions": "rotary"}}
COORDINATE = LAYER | {"pool": {"kind": "halving", "scorer": {"kind": "coordinate", "feature": 12}}}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"source_length": 64, "encoder": SYNTHESIZER},
            r"encoder\[1\].attention.length must be at least source_length = 64, got 63",
        ),
        ({"dim": 64, "heads": 7}, "heads must divide dim = 64, got 7"),
        ({"dim": 9, "heads": 3}, "dim must be even for sinusoidal positions, got 9"),
        (
            {"encoder": [MASS]},
            "attention must have weights, as vanilla has, before the scorer attention_mass, got linformer",
        ),
        ({"encoder": [LAYER, LSH]}, r"encoder\[1\]: local_heads must be less than heads = 4, got 4; lower it"),
        ({"encoder": [LAYER, ROTARY]}, r"encoder\[1\]: dim / heads must be even for rotary positions"),
        ({"encoder": [LAYER, COORDINATE]}, r"encoder\[1\]: feature must be less than model\.dim = 12, got 12"),
    ],
)
def test_settings_that_do_not_suit_each_other_are_refused(settings: dict[str, object], message: str) -> None:
    state = torch.random.get_rng_state()
    with pytest.raises(ValidationError, match=message):
        ModelConfig.model_validate({"dim": 12, "heads": 4, "encoder": [LAYER], **settings})
    assert torch.equal(torch.random.get_rng_state(), state)


def test_an_attention_of_a_bounded_length_may_read_whole_documents() -> None:
    assert ModelConfig.model_validate({"source_length": 63, "encoder": SYNTHESIZER}).source_length == 63
