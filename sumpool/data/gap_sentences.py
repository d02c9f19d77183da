"""Something to learn from documents alone: to write the sentences that matter, which were taken out (PEGASUS).

Zhang et al. (2020, arXiv:1912.08777, section 3.1): the sentences that agree most with the rest of a document, by the F1
of their words, make a stand-in for its summary ("Ind-Orig"). Departures: documents are cut into windows, so that a long
one teaches many times; what is taken out leaves no mark, as no document of a user has one; and sentences are taken up
to a number of words, so that stand-ins have about the length of summaries.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from pydantic import Field

from sumpool.data.excerpts import excerpts
from sumpool.data.sources._base import Example, Reject
from sumpool.settings import Settings
from sumpool.text.fragments import words as words_of
from sumpool.text.sentences import join

_SENTENCE_WORDS = range(6, 61)
"""Others are headings, drawings and lists rather than sentences."""
_LEAST = 3
"""Words of a window for each word that is taken out of it, at least."""


class GapSentencesConfig(Settings):
    """Windows in place of documents, their principal sentences in place of summaries."""

    words: int = Field(60, ge=10)
    """Words that are taken out of a window, at most; one sentence is taken in any case."""
    window: int = Field(600, ge=30)
    """Words of a window."""
    windows: int = Field(10, ge=1)
    """Windows of a document, its first ones."""


def take_out(rows: Iterator[Example | Reject], config: GapSentencesConfig) -> Iterator[Example | Reject]:
    """Cut documents into windows and take their principal sentences out; the same document always gives the same."""

    def cut(_: str, sentences: list[str]) -> Iterator[tuple[str, str]]:
        for window in _windows(sentences, config.window):
            gaps = set(principal(window, config.words))
            if gaps and sum(len(sentence.split()) for sentence in window) >= _LEAST * config.words:
                left = (sentence for place, sentence in enumerate(window) if place not in gaps)
                yield join(left, paragraph="\n\n"), " ".join(window[place].strip() for place in sorted(gaps))

    return excerpts(rows, cut, config.windows)


def principal(sentences: Sequence[str], words: int) -> list[int]:
    """Find the sentences that agree most with all others, each by itself, best first.

    Args:
        sentences: Of a document.
        words: How many may be taken at most; the best sentence is taken in any case.
    """
    counts = [Counter(words_of(sentence)) for sentence in sentences]
    whole = sum(counts, Counter[str]())
    agreement = {
        place: _f1(count, whole - count)
        for place, count in enumerate(counts)
        if len(sentences[place].split()) in _SENTENCE_WORDS
    }
    taken: list[int] = []
    for place in sorted(agreement, key=lambda place: (-agreement[place], place)):
        size = len(sentences[place].split())
        if taken and size > words:
            break
        taken.append(place)
        words -= size
    return taken


def _f1(sentence: Counter[str], others: Counter[str]) -> float:
    """F1 of the words of a sentence as a summary of the others."""
    return 2 * (sentence & others).total() / max(sentence.total() + others.total(), 1)


def _windows(sentences: Sequence[str], words: int) -> Iterator[list[str]]:
    """Gather sentences that follow each other until a window is full."""
    window: list[str] = []
    size = 0
    for sentence in sentences:
        window.append(sentence)
        size += len(sentence.split())
        if size >= words:
            yield window
            window, size = [], 0
    if window:
        yield window
