import json
from pathlib import Path
from typing import Any

import pytest

from sumpool.core.decoding.config import DecodingConfig
from sumpool.errors import CheckpointError, RecipeError
from sumpool.pretrained.config import (
    GenerationSettings,
    ImportOptions,
    read_config,
    read_generation,
    to_decoding_config,
    to_model_config,
)
from tests.pretrained.originals import CLASSES, both

SIZES = {"vocab_size": 60, "d_model": 16, **both(layers=2, attention_heads=2, ffn_dim=24)}


def write(folder: Path, family: str = "bart", **changes: Any) -> Path:  # noqa: ANN401
    """Write the configuration of a tiny model; a change to None leaves the entry out."""
    windows = {"attention_window": [8, 4]} if family == "led" else {}
    config = CLASSES[family][0](**SIZES, **windows)
    tree = {**config.to_dict(), **changes}
    (folder / "config.json").write_text(json.dumps({name: value for name, value in tree.items() if value is not None}))
    return folder


def test_defaults_are_those_of_transformers(tmp_path: Path) -> None:
    for family in CLASSES:
        start = {"decoder_start_token_id": 3} if family == "mbart" else {}
        tree = {"model_type": family, **SIZES, **start, "vocab_size": 60000}
        (tmp_path / "config.json").write_text(json.dumps(tree))
        original, usual = read_config(tmp_path), CLASSES[family][0](**start)
        names = {"dropout", "activation_function", "attention_window", "scale_embedding"}
        for name in {*names, *(name for name in type(original).model_fields if "position" in name or "token" in name)}:
            assert getattr(original, name) == getattr(usual, name, getattr(original, name))
        assert original.generation.forced_eos_token_id == usual.to_dict().get("forced_eos_token_id")


def test_null_and_absent_entries(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "bart", **SIZES, "forced_eos_token_id": None}))
    assert read_config(tmp_path).generation.forced_eos_token_id is None
    path.write_text(json.dumps({"model_type": "mbart", **SIZES, "decoder_start_token_id": None}))
    with pytest.raises(CheckpointError, match=r"config\.json: decoder_start_token_id must be there, got nothing"):
        read_config(tmp_path)
    (tmp_path / "generation_config.json").write_text('{"decoder_start_token_id": 7}')
    assert read_config(tmp_path).decoder_start_token_id == 7


def test_unsupported_configurations_are_refused(tmp_path: Path) -> None:
    for changes, sentence in (
        (
            {"model_type": "gpt2"},
            r"config\.json: model_type must be 'bart', 'led', 'mbart', 'pegasus' or 'marian', got 'gpt2'",
        ),
        ({"share_encoder_decoder_embeddings": False}, r"share_encoder_decoder_embeddings must be True, got False"),
        ({"activation_function": "gelu_new"}, r"activation_function must be 'relu', .* or 'swish', got 'gelu_new'"),
        ({"tie_word_embeddings": False}, r"tie_word_embeddings must be True, got False"),
        ({"decoder_attention_heads": 4}, r"decoder_attention_heads must be as encoder_attention_heads = 2, got 4"),
        ({"encoder_ffn_dim": 7}, r"decoder_ffn_dim must be as encoder_ffn_dim = 7, got 24"),
        ({"pad_token_id": 60}, r"pad_token_id must be below vocab_size = 60, got 60"),
        ({"forced_bos_token_id": 99}, r"forced_bos_token_id must be below vocab_size = 60, got 99"),
        ({"forced_eos_token_id": 3}, r"forced_eos_token_id must be eos_token_id = 2, got 3"),
        ({"num_beams": "many"}, r"generation\.num_beams must be a whole number, got 'many'"),
    ):
        with pytest.raises(CheckpointError, match=sentence):
            read_config(write(tmp_path, **changes))


def test_missing_configurations_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"config\.json must be JSON that can be read, got: .*No such file"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(CheckpointError, match=r"config\.json must hold a JSON object, got list"):
        read_config(tmp_path)


def test_unsupported_sizes_are_refused(tmp_path: Path) -> None:
    for family, settings, sentence in (
        ("bart", {"d_model": 17}, r"config\.json must be of a supported model: heads must divide dim"),
        ("bart", {"decoder_layers": 65}, r"a supported model: decoder\.layers must be at most 64"),
        ("led", {"attention_window": [8, 7]}, r"window: must be even, got 7"),
        ("led", {"attention_window": [8]}, r"attention_window must have 2 entries, one for each layer, got 1"),
    ):
        original = read_config(write(tmp_path, family, **settings))
        with pytest.raises(CheckpointError, match=sentence):
            to_model_config(original, ImportOptions(), tmp_path)


def test_import_options_are_applied(tmp_path: Path) -> None:
    original = read_config(write(tmp_path))
    config = to_model_config(original, ImportOptions("sliding_window", 6, 4096), tmp_path)
    assert config.source_length == 4096
    attention = config.encoder[0].attention.model_dump()
    assert (attention["kind"], attention["window"], attention["global_first"]) == ("sliding_window", 6, False)
    blockwise = to_model_config(original, ImportOptions("blockwise", 7), tmp_path).encoder[1].attention
    assert blockwise.model_dump(exclude={"positions"}) == {"kind": "blockwise", "block": 7}
    led = read_config(write(tmp_path, "led"))
    windows = [
        layer.attention.model_dump()["window"]
        for layer in to_model_config(led, ImportOptions("sliding_window", 6), tmp_path).encoder
    ]
    assert windows == [6, 6]


def test_contradicting_options_are_refused(tmp_path: Path) -> None:
    for family, changes, sentence in (
        ("bart", ImportOptions(window=8), r"--window must come with .*, got --attention keep and --window 8"),
        ("bart", ImportOptions("blockwise"), r"--window must .*, got --attention blockwise and no --window"),
        ("led", ImportOptions("blockwise", 8), r"--attention must be keep or sliding_window for LED, got blockwise"),
        ("bart", ImportOptions("sliding_window", 7), r"--window must be even for sliding_window, .*, got 7"),
    ):
        original = read_config(write(tmp_path, family))
        with pytest.raises(RecipeError, match=sentence):
            to_model_config(original, changes, tmp_path)


def decoding(target_length: int = 1024, **settings: Any) -> DecodingConfig:  # noqa: ANN401
    return to_decoding_config(GenerationSettings(**settings), target_length)


def test_defaults_are_those_of_generate() -> None:
    config = decoding()
    assert (config.beams, config.length_penalty, config.length_formula) == (1, 1.0, "transformers")
    assert (config.no_repeat_words, config.no_repeat_tokens, config.early_stopping) == (0, 0, False)
    assert (config.min_length, config.max_length, config.force_end, config.begin_with) == (0, 1023, False, ())


def test_settings_are_converted() -> None:
    config = decoding(num_beams=4, length_penalty=2.0, no_repeat_ngram_size=3, early_stopping=True)
    assert (config.beams, config.length_penalty, config.no_repeat_tokens, config.early_stopping) == (4, 2.0, 3, True)
    config = decoding(forced_bos_token_id=0, forced_eos_token_id=2, early_stopping="never")
    assert (config.begin_with, config.force_end) == ((0,), True)
    assert (config.length_formula, config.early_stopping) == ("sumpool", False)  # "never" gives the exact formula


def test_lengths_exclude_decoder_start_and_eos() -> None:
    for settings, lengths in (
        ({"min_length": 56, "max_length": 142}, (55, 141)),
        ({"min_length": 56, "max_length": 142, "forced_eos_token_id": 2}, (55, 140)),
        ({"min_new_tokens": 5, "max_new_tokens": 9}, (5, 9)),
        ({"min_new_tokens": 3, "min_length": 6}, (3, 1023)),
        ({"min_new_tokens": 5, "max_new_tokens": 9, "max_length": 3, "forced_eos_token_id": 2}, (5, 8)),
        ({"min_length": 99, "max_length": 10}, (9, 9)),
        ({"max_length": 5000}, (0, 1023)),
    ):
        config = decoding(**settings)
        assert (config.min_length, config.max_length) == lengths


def test_generation_config_outranks_config_and_that_its_task_specific_params(tmp_path: Path) -> None:
    task = {"summarization": {"min_length": 30, "num_beams": 4}}
    config = {"num_beams": 5, "task_specific_params": task}
    settings = read_generation(tmp_path, config)
    assert (settings["num_beams"], settings["min_length"]) == (5, 30)
    assert read_generation(tmp_path, {"task_specific_params": 3})["left_out"] == ()
    path = tmp_path / "generation_config.json"
    path.write_text(json.dumps({"num_beams": 3, "max_length": None}))
    assert read_generation(tmp_path, config) == {"num_beams": 3, "left_out": ()}
    path.write_text("{")
    with pytest.raises(CheckpointError, match=r"generation_config\.json must be JSON, got: "):
        read_generation(tmp_path, config)


def test_unsupported_settings_are_listed(tmp_path: Path) -> None:
    config = {"repetition_penalty": 1.2, "do_sample": False, "bad_words_ids": [[7]], "guidance_scale": 1.0}
    assert read_generation(tmp_path, config)["left_out"] == ("repetition_penalty", "bad_words_ids")
    padding = {**config, "pad_token_id": 7}  # is never generated
    assert read_generation(tmp_path, padding)["left_out"] == ("repetition_penalty",)
