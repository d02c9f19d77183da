"""Tokens per second of a language model's cached generation by length of the text, and their growth.

One text is generated per repetition, and the clock is read at every length, so that the figures of all lengths are of
the same text. Tokens are random, as the time of drawing one does not depend on the length.
"""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from sumpool.bench.config import split_overrides
from sumpool.bench.measures import Steps, Timing, synchronize
from sumpool.bench.results import BenchReport, Result, Row, make_report
from sumpool.bench.workload import Conditions
from sumpool.progress import Check, Report, no_op
from sumpool.studies.config import GenerationConfig
from sumpool.studies.study import load_study, make_table
from sumpool.tasks.language_modeling.generation import load_language_model

if TYPE_CHECKING:
    from sumpool.tasks.language_modeling.model import LanguageModel

LAST = 128
"""Tokens before each length whose speed is that at the length."""
_CHECKED = 64
"""Tokens between two checks for a signal."""


def study_generation(run: Path | None, overrides: Sequence[str], report: Report, check: Check) -> BenchReport:
    """Measure the cached generation of a run, of the newest language model by default.

    Raises:
        CheckpointError: If there is no language model, or it is damaged.
        RecipeError: If a setting is wrong.
        ResourceError: If memory runs out.
        Interrupted: If a signal has come.
    """
    of_study, of_run = split_overrides(overrides, ("study.",))
    config = load_study("generation", GenerationConfig, of_study).study
    loaded = load_language_model(run, of_run)
    name, vocabulary = loaded.recipe.name, loaded.tokenizer.vocab_size
    steps = Steps(config.repeats, report, check)
    rows = measure_text_generation(name, loaded.model, vocabulary, config.lengths, config.repeats, loaded.device, steps)
    steps.finish()
    result = Result({"generation": rows}, [make_table("generation", rows, {"last": LAST})])
    conditions = Conditions(vocabulary, loaded.device, torch.float32, loaded.recipe.seed)
    settings = {"study": config.model_dump(), "model": loaded.recipe.model.model_dump(mode="json")}
    return make_report(name, "generation", conditions, settings, result)


def measure_text_generation(
    name: str,
    model: "LanguageModel",
    vocabulary: int,
    lengths: Sequence[int],
    repeats: int,
    device: torch.device,
    steps: Steps,
) -> list[Row]:
    """Measure a model, and return a row of each length.

    Args:
        name: Name of the model.
        model: The model.
        vocabulary: Tokens of the vocabulary.
        lengths: Lengths of the text, each longer than `LAST`.
        repeats: Texts.
        device: Device of the model.
        steps: Progress, of a step per text.
    """
    lengths = sorted(lengths)
    marks = sorted({length - LAST for length in lengths} | set(lengths))
    tokens = torch.randint(0, vocabulary, (max(lengths),), generator=torch.Generator().manual_seed(1)).to(device)
    texts: list[dict[int, float]] = []
    for _ in range(repeats):
        steps()
        texts.append(generation_seconds(model, tokens, marks, device, steps.check))
    rows, start = [], min(text[lengths[0]] for text in texts)
    for length in lengths:
        timing = Timing(tuple(text[length] for text in texts))
        last = Timing(tuple(text[length] - text[length - LAST] for text in texts))
        longer = length / lengths[0]
        growth = math.log(timing.fastest / start) / math.log(longer) if longer > 1 else None
        values = {"model": name, "length": length, "tokens_per_second": length / timing.median}
        rows.append(Row({**values, "last": LAST / last.median, "growth": growth}, timing))
    return rows


@torch.inference_mode()
def generation_seconds(
    model: "LanguageModel", tokens: torch.Tensor, lengths: Sequence[int], device: torch.device, check: Check = no_op
) -> dict[int, float]:
    """Read tokens one by one through the cache; return the seconds until each of some ascending lengths.

    Args:
        model: The model, on the device, in evaluation mode.
        tokens: (tokens,) ids, at least as many as the longest length.
        lengths: Lengths.
        device: Device of the model.
        check: Called now and then.
    """
    cache = model.start(1)
    seconds: dict[int, float] = {}
    synchronize(device)
    start = time.perf_counter()
    for index in range(max(lengths)):
        if index % _CHECKED == 0:
            check()
        _, cache = model.step(tokens[index, None], cache)
        if index + 1 in lengths:
            synchronize(device)
            seconds[index + 1] = time.perf_counter() - start
    return seconds
