"""Settings of transformers' `generate` as a `summarize` section.

The settings are read from `generation_config.json`, or if there is none from `config.json`, where those of all tasks
outrank those of summarization. Defaults are those of `generate`, except for the maximum length, 20 tokens there.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sumpool.core.decoding.config import DecodingConfig
from sumpool.pretrained.folder import read_json

GENERATION = "generation_config.json"
_WITHOUT_EFFECT = {
    "do_sample": False,
    "num_beam_groups": 1,
    "diversity_penalty": 0.0,
    "repetition_penalty": 1.0,
    "encoder_repetition_penalty": 1.0,
    "encoder_no_repeat_ngram_size": 0,
    "exponential_decay_length_penalty": None,
    "guidance_scale": 1.0,
    "penalty_alpha": None,
    "bad_words_ids": None,
    "force_words_ids": None,
    "suppress_tokens": None,
    "begin_suppress_tokens": None,
    "sequence_bias": None,
}
"""Unsupported settings, with the value that has no effect."""


class GenerationSettings(BaseModel):
    """Settings by the names of transformers."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    num_beams: int = 1
    length_penalty: float = 1.0
    early_stopping: bool | Literal["never"] = False
    no_repeat_ngram_size: int = 0
    min_length: int = Field(0, ge=0)
    """Minimum length in tokens, the decoder's first input included and EOS excluded."""
    max_length: int | None = Field(None, ge=3)
    """Maximum length in tokens, the decoder's first input and EOS included."""
    min_new_tokens: int | None = Field(None, ge=0)
    """Minimum length without the decoder's first input; outranks `min_length`."""
    max_new_tokens: int | None = Field(None, ge=2)
    forced_bos_token_id: int | None = Field(None, ge=0)
    forced_eos_token_id: int | None = Field(None, ge=0)
    suppress_tokens: list[int] | None = None
    left_out: tuple[str, ...] = ()
    """Unsupported settings of the file."""


def read_generation(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Read the settings of a folder, given its `config.json` without null values.

    Returns:
        Values of `GenerationSettings`.

    Raises:
        CheckpointError: If `generation_config.json` is there and damaged.
    """
    if (folder / GENERATION).is_file():
        settings = read_json(folder / GENERATION)
    else:
        tasks = config.get("task_specific_params")
        task = tasks.get("summarization") if isinstance(tasks, dict) else None
        settings = {**(task if isinstance(task, dict) else {}), **config}
    settings = {name: value for name, value in settings.items() if value is not None}
    if settings.get("bad_words_ids") == [[config.get("pad_token_id")]]:
        del settings["bad_words_ids"]  # padding is never generated
    left_out = tuple(name for name, usual in _WITHOUT_EFFECT.items() if settings.get(name, usual) != usual)
    return {**settings, "left_out": left_out}


def to_decoding_config(generation: GenerationSettings, target_length: int) -> DecodingConfig:
    """Convert the settings of `generate`.

    Args:
        generation: The settings.
        target_length: Maximum length of a summary of the model in tokens, EOS included.

    Raises:
        ValueError: If a value is not supported; also as pydantic's `ValidationError`.
    """
    forced = generation.forced_eos_token_id is not None
    limits = [target_length - 1]
    if generation.max_new_tokens is not None:
        limits.append(generation.max_new_tokens - forced)
    elif generation.max_length is not None:
        limits.append(generation.max_length - 1 - forced)
    maximum = min(limits)
    minimum = generation.min_new_tokens
    if minimum is None:
        minimum = max(0, generation.min_length - 1)
    forced_bos = generation.forced_bos_token_id
    return DecodingConfig(
        beams=generation.num_beams,
        length_penalty=generation.length_penalty,
        length_formula="sumpool" if generation.early_stopping == "never" else "transformers",
        early_stopping=generation.early_stopping is True,
        min_length=min(maximum, minimum),
        max_length=maximum,
        force_end=forced,
        begin_with=() if forced_bos is None else (forced_bos,),
        no_repeat_words=0,
        no_repeat_tokens=generation.no_repeat_ngram_size,
        repair=False,
    )
