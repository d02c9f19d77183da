import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sumpool.core.decoding.config import DecodingConfig
from sumpool.errors import CheckpointError
from sumpool.pretrained.generation import GenerationSettings, read_generation, to_decoding_config


def written(target_length: int = 1024, **settings: Any) -> DecodingConfig:  # noqa: ANN401
    return to_decoding_config(GenerationSettings(**settings), target_length)


def test_what_is_not_said_is_as_in_generate() -> None:
    found = written()
    assert (found.beams, found.length_penalty, found.length_formula) == (1, 1.0, "transformers")
    assert (found.no_repeat_words, found.no_repeat_tokens, found.early_stopping) == (0, 0, False)
    assert (found.min_length, found.max_length, found.force_end, found.begin_with) == (0, 1023, False, ())


def test_settings_are_taken_over() -> None:
    found = written(num_beams=4, length_penalty=2.0, no_repeat_ngram_size=3, early_stopping=True)
    assert (found.beams, found.length_penalty, found.no_repeat_tokens, found.early_stopping) == (4, 2.0, 3, True)
    assert (found.length_formula, found.no_repeat_words) == ("transformers", 0)
    forced = written(forced_bos_token_id=0, forced_eos_token_id=2)
    assert (forced.begin_with, forced.force_end) == ((0,), True)


def test_a_search_that_never_stops_early_has_the_formula_that_misses_nothing() -> None:
    found = written(early_stopping="never")
    assert (found.length_formula, found.early_stopping) == ("sumpool", False)


@pytest.mark.parametrize(
    ("settings", "lengths"),
    [
        ({"min_length": 56, "max_length": 142}, (55, 141)),
        ({"min_length": 56, "max_length": 142, "forced_eos_token_id": 2}, (55, 140)),
        ({"min_new_tokens": 5, "max_new_tokens": 9}, (5, 9)),
        ({"min_new_tokens": 5, "max_new_tokens": 9, "max_length": 3, "forced_eos_token_id": 2}, (5, 8)),
        ({"min_length": 99, "max_length": 10}, (9, 9)),
        ({"max_length": 5000}, (0, 1023)),
    ],
)
def test_lengths_count_pieces_without_start_and_end(settings: dict[str, int], lengths: tuple[int, int]) -> None:
    found = written(**settings)
    assert (found.min_length, found.max_length) == lengths


def test_what_ours_cannot_be_is_refused() -> None:
    with pytest.raises(ValidationError, match="length_penalty"):
        written(length_penalty=-1.0)
    with pytest.raises(ValidationError, match="max_length"):
        GenerationSettings(max_length=2)


def test_its_own_file_counts_alone(tmp_path: Path) -> None:
    (tmp_path / "generation_config.json").write_text(json.dumps({"num_beams": 3, "max_length": None}))
    config = {"num_beams": 5, "min_length": 7}
    assert read_generation(tmp_path, config) == {"num_beams": 3, "left_out": ()}


def test_otherwise_the_configuration_counts_over_what_it_says_of_summaries(tmp_path: Path) -> None:
    task = {"summarization": {"min_length": 30, "num_beams": 4}}
    found = read_generation(tmp_path, {"num_beams": 5, "task_specific_params": task})
    assert (found["num_beams"], found["min_length"]) == (5, 30)
    assert read_generation(tmp_path, {"task_specific_params": 3})["left_out"] == ()


def test_settings_that_nobody_here_has_are_named(tmp_path: Path) -> None:
    config = {"repetition_penalty": 1.2, "do_sample": False, "bad_words_ids": [[3]], "guidance_scale": 1.0}
    assert read_generation(tmp_path, config)["left_out"] == ("repetition_penalty", "bad_words_ids")


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "generation_config.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"generation_config\.json must be JSON that can be read, got: "):
        read_generation(tmp_path, {})
