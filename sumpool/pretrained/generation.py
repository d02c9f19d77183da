"""How another model writes by its own settings, as our `summarize` section.

The settings are those of transformers' `generate`, from `generation_config.json`, or where there is none from
`config.json`: what it says of all tasks, over what it says of summaries. What is left out is as `generate` has it, but
for the longest length, which there is 20 pieces.
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
"""Settings that we do not have, with the value that leaves them out."""


class GenerationSettings(BaseModel):
    """The settings under their own names."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    num_beams: int = 1
    length_penalty: float = 1.0
    early_stopping: bool | Literal["never"] = False
    no_repeat_ngram_size: int = 0
    min_length: int = Field(0, ge=0)
    """Fewest pieces that the end may follow, the first one that the decoder is given included."""
    max_length: int | None = Field(None, ge=3)
    """Most pieces, the decoder's first one and the end included."""
    min_new_tokens: int = Field(0, ge=0)
    """The same without the decoder's first one."""
    max_new_tokens: int | None = Field(None, ge=2)
    forced_bos_token_id: int | None = Field(None, ge=0)
    forced_eos_token_id: int | None = Field(None, ge=0)
    left_out: tuple[str, ...] = ()
    """Settings that the file has and we do not."""


def read_generation(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Find what a folder says of generating.

    Args:
        folder: The folder.
        config: Its `config.json`, without what is null.

    Returns:
        What `GenerationSettings` is made from.

    Raises:
        CheckpointError: If `generation_config.json` is there and damaged.
    """
    if (folder / GENERATION).is_file():
        found = read_json(folder / GENERATION)
    else:
        tasks = config.get("task_specific_params")
        task = tasks.get("summarization") if isinstance(tasks, dict) else None
        found = {**(task if isinstance(task, dict) else {}), **config}
    found = {name: value for name, value in found.items() if value is not None}
    left_out = tuple(name for name, usual in _WITHOUT_EFFECT.items() if found.get(name, usual) != usual)
    return {**found, "left_out": left_out}


def to_decoding_config(generation: GenerationSettings, target_length: int) -> DecodingConfig:
    """Write as `generate` would.

    Args:
        generation: Its settings.
        target_length: Pieces of a summary that the model writes, its end included.

    Raises:
        ValueError: If a setting is beyond what ours can be; also as pydantic's `ValidationError`.
    """
    forced = generation.forced_eos_token_id is not None
    longest = [target_length - 1]
    if generation.max_new_tokens is not None:
        longest.append(generation.max_new_tokens - forced)
    elif generation.max_length is not None:
        longest.append(generation.max_length - 1 - forced)
    maximum = min(longest)
    forced_bos = generation.forced_bos_token_id
    return DecodingConfig(
        beams=generation.num_beams,
        length_penalty=generation.length_penalty,
        length_formula="sumpool" if generation.early_stopping == "never" else "transformers",
        early_stopping=generation.early_stopping is True,
        min_length=min(maximum, max(0, generation.min_length - 1, generation.min_new_tokens)),
        max_length=maximum,
        force_end=forced,
        begin_with=() if forced_bos is None else (forced_bos,),
        no_repeat_words=0,
        no_repeat_tokens=generation.no_repeat_ngram_size,
    )
