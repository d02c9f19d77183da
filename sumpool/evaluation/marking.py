"""Words that two texts share, marked in one of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from sumpool.evaluation.agreement import WordTokenizer
from sumpool.text.fragments import overlap

SEQUENCE = 2
"""Words of a shared sequence at least, as a match of ROUGE-2 has."""


@dataclass(frozen=True)
class MarkedSegment:
    """Part of a text.

    Attributes:
        text: The text.
        shared: `SEQUENCE` in a sequence of words that the other text has too, 1 for a shared word alone, otherwise 0.
    """

    text: str
    shared: int


def mark_shared(text: str, other: str, tokenizer: WordTokenizer) -> list[MarkedSegment]:
    """Split a text into parts that another text shares and parts that it does not.

    Args:
        text: The text; the segments joined are equal to it.
        other: The text that it is compared with.
        tokenizer: Tokenizer of the words that are compared.
    """
    words = _words(text, tokenizer)
    runs = overlap([word for _, _, word in _words(other, tokenizer)], [word for _, _, word in words]).runs
    levels = _levels(runs)
    segments: list[MarkedSegment] = []
    end = 0
    for (start, stop, _), run, level in zip(words, runs, levels, strict=True):
        _append(segments, text[end:start], SEQUENCE if run >= SEQUENCE else 0)
        _append(segments, text[start:stop], level)
        end = stop
    _append(segments, text[end:], 0)
    return segments


def _append(segments: list[MarkedSegment], text: str, shared: int) -> None:
    """Append a part of a text, joined to the last segment if both are equally shared."""
    if segments and segments[-1].shared == shared != 1:
        segments[-1] = MarkedSegment(segments[-1].text + text, shared)
    elif text:
        segments.append(MarkedSegment(text, shared))


def _words(text: str, tokenizer: WordTokenizer) -> list[tuple[int, int, str]]:
    """Start, end and stem of each word."""
    return [(start, end, " ".join(tokenizer.tokenize(text[start:end]))) for start, end in tokenizer.spans(text)]


def _levels(runs: Sequence[int]) -> list[int]:
    """Whether each word is shared alone or in a sequence, from the lengths of the shared sequences that end with it."""
    levels = [min(run, SEQUENCE) for run in runs]
    for index in range(1, len(runs)):
        if runs[index] >= SEQUENCE:
            levels[index - 1] = SEQUENCE
    return levels
