"""Something to learn from documents alone: to write shuffled sentences in order (Lewis et al., 2020, "BART").

Of the noises of BART's pretraining (section 2.2) this is the one that makes a decoder read: every word that it writes
stands in what it was given, in another place, so that cross-attention is learnt in minutes where summaries alone would
take days. Documents are cut into short passages of whole sentences.
"""

import random
from collections.abc import Iterator

from pydantic import Field

from sumpool.data.sources._base import Example, Reject
from sumpool.settings import Settings
from sumpool.text.sentences import SentenceSplitter

FEWEST_SENTENCES = 3
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
    """Cut documents into passages and shuffle their sentences; the same document gives the same passages.

    Args:
        rows: Documents, whose summaries are not looked at; a bad row stays what it is.
        config: Sizes.

    Yields:
        Passages, named after their document and their number in it.
    """
    splitter = SentenceSplitter.default()
    for row in rows:
        if isinstance(row, Reject):
            yield row
            continue
        for number, sentences in enumerate(_passages(row.document, splitter, config)):
            name = f"{row.id}#{number}"
            disorder = random.Random(name).sample(sentences, len(sentences))
            yield Example(name, " ".join(disorder), " ".join(sentences), row.split)


def _passages(document: str, splitter: SentenceSplitter, config: ShuffledConfig) -> Iterator[list[str]]:
    """Gather sentences that follow each other until a passage is full."""
    passage: list[str] = []
    size = found = 0
    for sentence in splitter.split(document):
        words = len(sentence.split())
        if words not in _SENTENCE_WORDS:
            continue
        if size + words > config.words:
            if len(passage) >= FEWEST_SENTENCES:
                yield passage
                found += 1
            passage, size = [], 0
        if found == config.passages:
            return
        passage.append(sentence.strip())
        size += words
    if len(passage) >= FEWEST_SENTENCES:
        yield passage
