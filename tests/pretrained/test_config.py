import json
from pathlib import Path
from typing import Any

import pytest
from transformers import BartConfig, LEDConfig

from sumpool.errors import CheckpointError, RecipeError
from sumpool.pretrained.config import ImportOptions, read_config, to_model_config
from tests.pretrained.originals import both

SIZES = {"vocab_size": 60, "d_model": 16, **both(layers=2, attention_heads=2, ffn_dim=24)}


def write(folder: Path, *, led: bool = False, **changes: Any) -> Path:  # noqa: ANN401
    """Write the configuration of a tiny model; a change to None leaves the entry out."""
    config = LEDConfig(**SIZES, attention_window=[8, 4]) if led else BartConfig(**SIZES)
    tree = {**config.to_dict(), **changes}
    (folder / "config.json").write_text(json.dumps({name: value for name, value in tree.items() if value is not None}))
    return folder


def test_config_of_bart(tmp_path: Path) -> None:
    write(tmp_path, scale_embedding=True, activation_function="relu", max_position_embeddings=50, dropout=0.0)
    config = to_model_config(read_config(tmp_path), ImportOptions(), tmp_path)
    assert (config.dim, config.heads, config.feed_forward, config.decoder.layers) == (16, 2, 24, 2)
    assert (config.source_length, config.target_length) == (50, 50)
    assert (config.norm, config.embedding_norm, config.scale_embedding) == ("post", True, True)
    assert (config.positions, config.decoder.positions, config.activation) == ("learned", "learned", "relu")
    assert [layer.attention.kind for layer in config.encoder] == ["vanilla", "vanilla"]


def test_config_of_led(tmp_path: Path) -> None:
    write(tmp_path, led=True, max_encoder_position_embeddings=64, max_decoder_position_embeddings=32)
    config = to_model_config(read_config(tmp_path), ImportOptions(), tmp_path)
    assert (config.source_length, config.target_length, config.scale_embedding) == (64, 32, False)
    layers = [layer.attention.model_dump(exclude={"positions"}) for layer in config.encoder]
    expected = {"kind": "sliding_window", "global_first": True, "causal": False}
    assert layers == [{**expected, "window": window} for window in (8, 4)]


def test_defaults_are_those_of_bart(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bart", **SIZES}))
    original, usual = read_config(tmp_path), BartConfig()
    for name in ("pad_token_id", "eos_token_id", "decoder_start_token_id", "max_position_embeddings", "dropout"):
        assert getattr(original, name) == getattr(usual, name)
    assert original.activation_function == usual.activation_function


def test_the_decoder_starts_as_it_does_in_generate(tmp_path: Path) -> None:
    (write(tmp_path) / "generation_config.json").write_text('{"decoder_start_token_id": 7}')
    assert read_config(tmp_path).decoder_start_token_id == 7


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"model_type": "t5"},
            r"model_type must be one of bart, led, marian, mbart, pegasus, got t5, which .*: positions are biases of",
        ),
        (
            {"model_type": "pegasus_x"},
            r"got pegasus_x, which has no counterpart here: blocks of every second",
        ),
        ({"model_type": "gpt2"}, r"config\.json: model_type must be 'bart', 'led', .* or 'pegasus', got 'gpt2'"),
        ({"model_type": None}, r"config\.json: model_type must be there, got nothing"),
        ({"activation_function": "gelu_new"}, r"activation_function must be 'relu', .* got 'gelu_new'"),
        ({"tie_word_embeddings": False}, r"tie_word_embeddings must be True, got False"),
        ({"decoder_attention_heads": 4}, r"decoder_attention_heads must be as encoder_attention_heads = 2, got 4"),
        ({"encoder_ffn_dim": 7}, r"decoder_ffn_dim must be as encoder_ffn_dim = 7, got 24"),
        ({"d_model": "16"}, r"d_model must be a whole number, got '16'"),
        ({"eos_token_id": [2, 3]}, r"eos_token_id must be a whole number, got \[2, 3\]"),
        ({"pad_token_id": 60}, r"pad_token_id must be below vocab_size = 60, got 60"),
        ({"forced_bos_token_id": 99}, r"forced_bos_token_id must be below vocab_size = 60, got 99"),
        ({"forced_eos_token_id": 3}, r"forced_eos_token_id must be eos_token_id = 2, got 3"),
        ({"num_beams": "many"}, r"generation\.num_beams must be a whole number, got 'many'"),
    ],
)
def test_unsupported_configurations_are_refused(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(CheckpointError, match=sentence):
        read_config(write(tmp_path, **changes))


def test_missing_configurations_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"config\.json must be JSON that can be read, got: .*No such file"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(CheckpointError, match=r"config\.json must hold a JSON object, got list"):
        read_config(tmp_path)


@pytest.mark.parametrize(
    ("led", "settings", "sentence"),
    [
        (False, {"d_model": 17}, r"config\.json must be of a supported model: heads must divide dim"),
        (False, {"decoder_layers": 65}, r"a supported model: decoder\.layers must be at most 64"),
        (True, {"attention_window": [8, 7]}, r"window: must be even, got 7"),
        (True, {"attention_window": [8]}, r"attention_window must have 2 entries, one for each layer, got 1"),
    ],
)
def test_unsupported_sizes_are_refused(tmp_path: Path, led: bool, settings: dict[str, Any], sentence: str) -> None:
    original = read_config(write(tmp_path, led=led, **settings))
    with pytest.raises(CheckpointError, match=sentence):
        to_model_config(original, ImportOptions(), tmp_path)


def test_import_options_are_applied(tmp_path: Path) -> None:
    original = read_config(write(tmp_path))
    config = to_model_config(original, ImportOptions("sliding_window", 6, 4096), tmp_path)
    assert config.source_length == 4096
    attention = config.encoder[0].attention.model_dump()
    assert (attention["kind"], attention["window"], attention["global_first"]) == ("sliding_window", 6, False)
    blockwise = to_model_config(original, ImportOptions("blockwise", 7), tmp_path).encoder[1].attention
    assert blockwise.model_dump(exclude={"positions"}) == {"kind": "blockwise", "block": 7, "causal": False}
    led = read_config(write(tmp_path, led=True))
    windows = [
        layer.attention.model_dump()["window"]
        for layer in to_model_config(led, ImportOptions("sliding_window", 6), tmp_path).encoder
    ]
    assert windows == [6, 6]


@pytest.mark.parametrize(
    ("led", "changes", "sentence"),
    [
        (
            False,
            ImportOptions(window=8),
            r"--window must come with --attention .*, got --attention keep and --window 8",
        ),
        (False, ImportOptions("blockwise"), r"--window must .*, got --attention blockwise and no --window"),
        (True, ImportOptions("blockwise", 8), r"--attention must be keep or sliding_window for LED, got blockwise"),
        (
            False,
            ImportOptions("sliding_window", 7),
            r"--window must be even for sliding_window, one half on either side, got 7",
        ),
    ],
)
def test_contradicting_options_are_refused(tmp_path: Path, led: bool, changes: ImportOptions, sentence: str) -> None:
    original = read_config(write(tmp_path, led=led))
    with pytest.raises(RecipeError, match=sentence):
        to_model_config(original, changes, tmp_path)
