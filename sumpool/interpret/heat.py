"""Weights of tokens as weights of the words of a text, for display."""

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise

_WORD = re.compile(r"\S+")
_MAX_WORD, _PART = 24, 8
"""Characters of a longer word, as in scripts without spaces, and of the parts that it is displayed in."""


def heat_words(text: str) -> list[tuple[int, int]]:
    """Return start and end of each word of a text; long words are divided."""
    words: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        part = _PART if end - start > _MAX_WORD else _MAX_WORD
        words += [(first, min(first + part, end)) for first in range(start, end, part)]
    return words


def word_weights(text: str, tokens: Sequence[bytes], weights: Sequence[float]) -> tuple[float | None, ...]:
    """Mean weight of the tokens of each word.

    Args:
        text: The text.
        tokens: UTF-8 bytes of its first tokens, or of all; white space does not count.
        weights: Weight of each token.

    Returns:
        Weight of each of the `heat_words`, by bytes; None at words without a token.
    """
    ends = list(accumulate((len(b"".join(token.split())) for token in tokens), initial=0))
    spans = [(start, end, weight) for (start, end), weight in zip(pairwise(ends), weights, strict=True) if end > start]
    offset, first = 0, 0
    means: list[float | None] = []
    for start, end in heat_words(text):
        stop = offset + len(text[start:end].encode(errors="replace"))
        total = covered = 0.0
        while first < len(spans) and spans[first][1] <= offset:
            first += 1
        for token_start, token_end, weight in spans[first:]:
            if token_start >= stop:
                break
            overlap = min(stop, token_end) - max(offset, token_start)
            total, covered = total + overlap * weight, covered + overlap
        means.append(total / covered if covered else None)
        offset = stop
    return tuple(means)
