"""Something to learn from documents alone: to write shuffled sentences in order (Lewis et al., 2020, "BART").

Of the noises of BART's pretraining (section 2.2) this is the one that makes a decoder read: every word that it writes
stands in what it was given, in another place, so that cross-attention is learnt in minutes where summaries alone would
take days. Documents are cut into short passages of whole sentences.
"""

import random
from collections.abc import Iterator, Sequence

from pydantic import Field

from sumpool.data.excerpts import excerpts
from sumpool.data.sources._base import Example, Reject
from sumpool.settings import Settings

_FEWEST_SENTENCES = 3
"""Of a passage; two in order are found by chance every other time."""
_SENTENCE_WORDS = range(4, 31)
"""Others are headings, drawings and lists rather than sentences."""


class ShuffledConfig(Settings):
    """Passages in place of documents, in order in place of summaries."""

    words: int = Field(64, ge=10)
    """Words of a passage, at most."""
    passages: int = Field(25, ge=1)
    """Passages of a document, its first ones."""


def shuffle(rows: Iterator[Example | Reject], config: ShuffledConfig) -> Iterator[Example | Reject]:
    """Cut documents into passages and shuffle their sentences; the same document gives the same passages."""

    def cut(name: str, sentences: list[str]) -> Iterator[tuple[str, str]]:
        for number, passage in enumerate(_passages(sentences, config.words)):
            disorder = random.Random(f"{name}#{number}").sample(passage, len(passage))
            yield " ".join(disorder), " ".join(passage)

    return excerpts(rows, cut, config.passages)


def _passages(sentences: Sequence[str], most: int) -> Iterator[list[str]]:
    """Gather sentences that follow each other until a passage is full."""
    passage: list[str] = []
    size = 0
    for sentence in sentences:
        words = len(sentence.split())
        if words not in _SENTENCE_WORDS:
            continue
        if size + words > most:
            if len(passage) >= _FEWEST_SENTENCES:
                yield passage
            passage, size = [], 0
        passage.append(sentence.strip())
        size += words
    if len(passage) >= _FEWEST_SENTENCES:
        yield passage
