import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sumpool.core.decoding.config import DecodingConfig
from sumpool.errors import CheckpointError
from sumpool.pretrained.config import GenerationSettings, read_generation, to_decoding_config


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
    assert (config.length_formula, config.no_repeat_words) == ("transformers", 0)
    forced = decoding(forced_bos_token_id=0, forced_eos_token_id=2)
    assert (forced.begin_with, forced.force_end) == ((0,), True)


def test_early_stopping_never_gives_the_exact_formula() -> None:
    config = decoding(early_stopping="never")
    assert (config.length_formula, config.early_stopping) == ("sumpool", False)


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


def test_unsupported_values_are_refused() -> None:
    with pytest.raises(ValidationError, match="length_penalty"):
        decoding(length_penalty=-1.0)
    with pytest.raises(ValidationError, match="max_length"):
        GenerationSettings(max_length=2)


def test_generation_config_overrides_config(tmp_path: Path) -> None:
    (tmp_path / "generation_config.json").write_text(json.dumps({"num_beams": 3, "max_length": None}))
    config = {"num_beams": 5, "min_length": 7}
    assert read_generation(tmp_path, config) == {"num_beams": 3, "left_out": ()}


def test_config_outranks_its_task_specific_params(tmp_path: Path) -> None:
    task = {"summarization": {"min_length": 30, "num_beams": 4}}
    settings = read_generation(tmp_path, {"num_beams": 5, "task_specific_params": task})
    assert (settings["num_beams"], settings["min_length"]) == (5, 30)
    assert read_generation(tmp_path, {"task_specific_params": 3})["left_out"] == ()


def test_unsupported_settings_are_listed(tmp_path: Path) -> None:
    config = {"repetition_penalty": 1.2, "do_sample": False, "bad_words_ids": [[3]], "guidance_scale": 1.0}
    assert read_generation(tmp_path, config)["left_out"] == ("repetition_penalty", "bad_words_ids")


def test_bad_words_that_are_padding_are_without_effect(tmp_path: Path) -> None:
    config = {"bad_words_ids": [[7]], "pad_token_id": 7}
    assert read_generation(tmp_path, config)["left_out"] == ()
    assert read_generation(tmp_path, {**config, "pad_token_id": 8})["left_out"] == ("bad_words_ids",)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "generation_config.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"generation_config\.json must be JSON, got: "):
        read_generation(tmp_path, {})
