"""Overlapping windows over a running text, in which every token but the first is predicted once.

A window reads up to `length` tokens and predicts the last `step` of their successors, so that each prediction sees as
many earlier tokens as a window holds. The released code of Nawrot et al. (2023) divides the text into parallel streams,
drops the remainder, and stops after 500 windows of each: 82 % of the test text of text8.
"""

from dataclasses import dataclass
from typing import Final

RELEASED_STREAMS, RELEASED_STEPS = 16, 500
"""Parallel streams and most windows of each in the released code: twice its training batch, and its cap."""
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
