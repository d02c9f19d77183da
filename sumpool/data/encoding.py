"""Texts to numbers, a span of documents at a time; runs in the worker processes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sumpool.data.contamination import hits
from sumpool.data.document_stats import DocumentStats, measure
from sumpool.data.shards import Item
from sumpool.data.sources._base import SPLITS, Example, Split
from sumpool.data.texts import Texts
from sumpool.text.document import encode_document
from sumpool.text.fragments import words
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import load_tokenizer

SENTENCES = "sentences.json"
PHRASES = "phrases.model"
_SPAN_BYTES = 1 << 18
"""Text of a span: a fraction of a second of work, so that a signal is answered soon."""


@dataclass(frozen=True)
class Span:
    """Documents of a split, from `start` up to and without `stop`."""

    split: Split
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class EncodedExample:
    """A document as numbers, and what is to be said of it.

    Attributes:
        item: Its ids.
        figures: Its figures.
        hits: For each evaluation split, which of the sought runs a training document holds.
    """

    item: Item
    figures: DocumentStats
    hits: Mapping[Split, np.ndarray]


class DocumentEncoder:
    """Encodes spans of the texts in a folder with the tokenizer and the sentence splitter beside them."""

    def __init__(self, folder: Path, sought: Mapping[Split, np.ndarray]) -> None:
        self._tokenizer = load_tokenizer(folder)
        self._splitter = SentenceSplitter.load(folder / SENTENCES)
        self._texts = {split: Texts.open(folder, split) for split in SPLITS}
        self._sought = sought

    def __call__(self, span: Span) -> list[EncodedExample]:
        """Encode the documents of a span, in order."""
        examples = self._texts[span.split].read(span.start, span.stop)
        return [self._encode(example) for example in examples]

    def _encode(self, example: Example) -> EncodedExample:
        document = encode_document(example.document, self._tokenizer, self._splitter)
        summary = [*self._tokenizer.frame.first, *self._tokenizer.encode(example.summary)]  # END comes with the batch
        target = np.array(summary, document.ids.dtype)
        item = Item(example.id, document.ids, document.sentences, target)
        said = words(example.document)
        found = (
            {split: hits(sought, said) for split, sought in self._sought.items()} if example.split == "train" else {}
        )
        return EncodedExample(item, measure(example, said, len(document.ids), len(target)), found)


def spans(texts: Texts, split: Split) -> Iterator[Span]:
    """Cut a split into spans of about the same amount of text."""
    start = size = 0
    for number, length in enumerate(texts.sizes().tolist()):
        if size and size + length > _SPAN_BYTES:
            yield Span(split, start, number)
            start, size = number, 0
        size += length
    if size:
        yield Span(split, start, len(texts))
