"""Tokens per second of a language model's cached generation by length of the text, and their growth.

One text is generated per repetition, and the clock is read at every length, so that the figures of all lengths are of
the same text. Tokens are random, as the time of drawing one does not depend on the length.
"""

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch

from sumpool.bench.measures import Steps, Timing, synchronize
from sumpool.bench.results import Column, Row, Table
from sumpool.progress import Check, no_op

if TYPE_CHECKING:
    from sumpool.tasks.language_modeling.scoring import TextModel

LAST = 128
"""Tokens before each length whose speed is that at the length."""
_CHECKED = 64
"""Tokens between two checks for a signal."""


@torch.inference_mode()
def generation_seconds(
    model: "TextModel", tokens: torch.Tensor, lengths: Sequence[int], device: torch.device, check: Check = no_op
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
    for place in range(max(lengths)):
        if place % _CHECKED == 0:
            check()
        _, cache = model.step(tokens[place, None], cache)
        if place + 1 in lengths:
            synchronize(device)
            seconds[place + 1] = time.perf_counter() - start
    return seconds


def measure_text_generation(
    name: str,
    model: "TextModel",
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
    marks = sorted({length - LAST for length in lengths} | set(lengths))
    tokens = torch.randint(0, vocabulary, (max(lengths),), generator=torch.Generator().manual_seed(1)).to(device)
    texts: list[dict[int, float]] = []
    for _ in range(repeats):
        steps()
        texts.append(generation_seconds(model, tokens, marks, device, steps.check))
    return [_row(name, length, min(lengths), texts) for length in sorted(lengths)]


def _row(name: str, length: int, first: int, texts: Sequence[Mapping[int, float]]) -> Row:
    timing = Timing(tuple(text[length] for text in texts))
    start = Timing(tuple(text[first] for text in texts))
    last = Timing(tuple(text[length] - text[length - LAST] for text in texts))
    growth = math.log(timing.fastest / start.fastest) / math.log(length / first) if length > first else None
    values = {"model": name, "length": length, "tokens_per_second": length / timing.median}
    return Row({**values, "last": LAST / last.median, "growth": growth}, timing)


def text_generation_table(rows: Sequence[Row]) -> Table:
    """Lay out the speeds."""
    columns = [
        Column("model", "model"),
        Column("tokens", "length", ","),
        Column("seconds", "median", "significant"),
        Column("spread", "spread", "spread"),
        Column("tokens/s", "tokens_per_second", "significant"),
        Column("tokens/s at the end", "last", "significant"),
        Column("growth", "growth", ".2f"),
    ]
    notes = [
        f"one text, token by token through the cache; at the end: the last {LAST} tokens",
        "growth: exponent of the time since the shortest length; 1 is linear",
    ]
    return Table("cached generation", columns, rows, notes, keys=2)
