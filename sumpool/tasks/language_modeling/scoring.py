"""Scores of a running text under a language model, window by window."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from sumpool.progress import Check, no_op
from sumpool.tasks.language_modeling.measures import ScoredWindow
from sumpool.tasks.language_modeling.model import LanguageModel

_CONTINUATION: Final = range(0x80, 0xC0)
"""Bytes that continue a character of UTF-8."""
_WHITESPACE = b" \t\n\r\v\f"


@dataclass(frozen=True)
class TextWindow:
    """Part of a text that is read at once.

    Attributes:
        start: First token that is read.
        scored: First token that is predicted.
        end: Token after the last one that is predicted; that one is not read.
    """

    start: int
    scored: int
    end: int

    @property
    def tokens(self) -> int:
        """Number of predicted tokens."""
        return self.end - self.scored

    @property
    def length(self) -> int:
        """Number of tokens that are read."""
        return self.end - 1 - self.start


def overlapping_windows(tokens: int, length: int, step: int, offset: int = 0) -> list[TextWindow]:
    """Return windows that predict every token of a text but the first, each once and with the most context.

    Args:
        tokens: Tokens of the text.
        length: Most tokens that a window reads.
        step: Tokens that a window predicts; the last one may predict fewer.
        offset: Index of the first token.

    Raises:
        ValueError: If the step is not from 1 to the length.
    """
    if not 1 <= step <= length:
        raise ValueError(f"step must be from 1 to the length of a window, {length}, got {step}")
    windows = []
    for scored in range(1, tokens, step):
        end = min(scored + step, tokens)
        windows.append(TextWindow(offset + max(0, end - 1 - length), offset + scored, offset + end))
    return windows


def released_windows(tokens: int, length: int, step: int) -> list[TextWindow]:
    """Return the windows of the released code: equal parallel streams, without remainder, capped in their number.

    Args:
        tokens: Tokens of the text.
        length: Most tokens that a window reads.
        step: Tokens that a window predicts.

    Raises:
        ValueError: If the step is not from 1 to the length.
    """
    size = tokens // RELEASED_STREAMS
    return [
        window
        for stream in range(RELEASED_STREAMS)
        for window in overlapping_windows(size, length, step, stream * size)[:RELEASED_STEPS]
    ]


def count_units(before: bytes, text: bytes) -> tuple[int, int]:
    """Count the characters and the words that begin in a text, given what precedes it; words end at whitespace."""
    characters = sum(byte not in _CONTINUATION for byte in text)
    words = 0
    in_word = bool(before) and before[-1] not in _WHITESPACE
    for byte in text:
        is_space = byte in _WHITESPACE
        words += not (in_word or is_space)
        in_word = not is_space
    return characters, words


Ids = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class EncodedText:
    """Running text as ids.

    Attributes:
        ids: (tokens,).
        token_bytes: UTF-8 bytes of every token of the vocabulary.
    """

    ids: Ids
    token_bytes: Sequence[bytes]


@torch.inference_mode()
def score_text(
    model: LanguageModel,
    text: EncodedText,
    windows: Sequence[TextWindow],
    *,
    batch_tokens: int,
    device: torch.device,
    check: Check = no_op,
) -> Iterator[ScoredWindow]:
    """Score the windows of a text, in their order.

    Args:
        model: The model, on the device, in evaluation mode.
        text: The text.
        windows: The windows; neighbours of equal length are scored together.
        batch_tokens: Most tokens of a batch; a longer window is a batch of its own.
        device: Device of the model.
        check: Called between batches.

    Yields:
        Scores of each window.
    """
    for (length, tokens), same in groupby(windows, lambda window: (window.length, window.tokens)):
        part = list(same)
        size = max(1, batch_tokens // length)
        for first in range(0, len(part), size):
            check()
            batch = part[first : first + size]
            spans = np.stack([text.ids[window.start : window.end] for window in batch]).astype(np.int64)
            ids = torch.from_numpy(spans).to(device)
            read, target = ids[:, :-1], ids[:, 1:]
            mask = torch.ones_like(read, dtype=torch.bool)
            scores, _, _ = model(read, mask, torch.zeros_like(read), target)
            nats = -scores.log_prob[:, -tokens:].double().sum(1)
            rows = zip(batch, spans, nats.tolist(), model.boundaries_of(read, mask).cpu().numpy(), strict=True)
            yield from (_scored(window, span, value, ends, text.token_bytes) for window, span, value, ends in rows)


def _scored(
    window: TextWindow, span: Ids, nats: float, boundaries: npt.NDArray[np.bool_], token_bytes: Sequence[bytes]
) -> ScoredWindow:
    """Count the units of a window's predicted tokens, and the segments that end where they are predicted.

    The length of a segment that begins before the window is that of its part in the window, as the model reads it.
    """
    predicted = span[-window.tokens :]
    data = b"".join(token_bytes[token] for token in predicted.tolist())
    characters, words = count_units(token_bytes[int(span[-window.tokens - 1])], data)
    ends = np.flatnonzero(boundaries)
    first = window.length - window.tokens
    lengths = np.diff(ends, prepend=-1)[ends >= first]
    return ScoredWindow(
        start=window.start,
        tokens=window.tokens,
        nats=nats,
        characters=characters,
        bytes=len(data),
        words=words,
        boundaries=len(lengths),
        lengths=dict(Counter(lengths.tolist())),
    )


RELEASED_STREAMS, RELEASED_STEPS = 16, 500
"""Parallel streams and most windows of each in the released code: twice its training batch, and its cap."""
