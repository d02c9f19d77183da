import pytest
from pydantic import ValidationError

from sumpool.core.model.config import ModelConfig

LAYER = {"attention": {"kind": "vanilla"}}


def test_heads_must_divide_dim() -> None:
    with pytest.raises(ValidationError, match="heads must divide dim = 64, got 7"):
        ModelConfig.model_validate({"dim": 64, "heads": 7, "encoder": [LAYER]})


def test_dim_must_be_even() -> None:
    with pytest.raises(ValidationError, match="dim must be even for sinusoidal positions, got 9"):
        ModelConfig.model_validate({"dim": 9, "heads": 3, "encoder": [LAYER]})


def test_a_variant_keeps_its_settings_through_a_dump() -> None:
    config = ModelConfig.model_validate({"encoder": [{"attention": {"kind": "blockwise", "block": 7}}]})
    assert ModelConfig.model_validate(config.model_dump()) == config
    attention = config.model_dump()["encoder"][0]["attention"]
    assert attention == {"kind": "blockwise", "block": 7, "positions": "none"}
