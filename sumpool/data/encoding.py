"""Tokenisation of documents in spans of similar size, executed by the worker processes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sumpool.data.document_stats import DocumentStats, document_stats, find_ngrams
from sumpool.data.inputs import SPLITS, Split
from sumpool.data.shards import Item
from sumpool.data.sources._base import Example
from sumpool.data.texts import Texts
from sumpool.text.language import split_words
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import Tokenizer, encode_document, id_dtype, load_tokenizer

_SPAN_BYTES = 1 << 18
"""Text per span; small enough for signals to be handled within a fraction of a second."""


@dataclass(frozen=True)
class Span:
    """Consecutive documents of a split: from `start` to `stop`, exclusive."""

    split: Split
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class EncodedExample:
    """A tokenised document and its statistics.

    Attributes:
        item: Token ids of document and summary.
        stats: Statistics for the data report.
        shared_ngrams: Indices of the sampled n-grams of each evaluation split that a training document contains.
    """

    item: Item
    stats: DocumentStats
    shared_ngrams: Mapping[Split, np.ndarray]


class DocumentEncoder:
    """Encodes spans of the texts in a folder, with the tokenizer of the folder.

    Args:
        folder: Prepared folder with texts and tokenizer.
        sampled_ngrams: Sampled n-grams of each evaluation split, searched for in training documents.
        language: Language of most documents, whose sentences are encoded.
    """

    def __init__(self, folder: Path, sampled_ngrams: Mapping[Split, np.ndarray], language: str) -> None:
        self.folder = folder
        self.tokenizer = load_tokenizer(folder)
        self.splitter = SentenceSplitter(language)
        self._texts = {split: Texts.open(folder, split) for split in SPLITS}
        self._sampled_ngrams = sampled_ngrams

    def __call__(self, span: Span) -> list[EncodedExample]:
        """Encode the documents of a span, in order."""
        examples = self._texts[span.split].read(span.start, span.stop)
        return [self._encode(example) for example in examples]

    def _encode(self, example: Example) -> EncodedExample:
        item = self.item(example)
        document_words = split_words(example.text)
        target_tokens = 0 if item.target is None else len(item.target)
        stats = document_stats(example, document_words, len(item.ids), target_tokens)
        sampled_ngrams = self._sampled_ngrams if example.split == "train" else {}
        shared = {split: find_ngrams(sampled, document_words) for split, sampled in sampled_ngrams.items()}
        return EncodedExample(item, stats, shared)

    def item(self, example: Example) -> Item:
        """Encode a document with its summary, to which batches add EOS."""
        tokenizer = self.tokenizer
        target = [*tokenizer.special_tokens.prefix, *tokenizer.encode(example.summary)]
        ids = np.array(target, id_dtype(tokenizer.vocab_size))
        return encode_item(example.id, example.document, tokenizer, self.splitter, ids)


def encode_item(
    name: str, text: str, tokenizer: Tokenizer, splitter: SentenceSplitter, target: np.ndarray | None = None
) -> Item:
    """Encode a document with its target, if it has one."""
    document = encode_document(text, tokenizer, splitter)
    return Item(name, document.ids, document.sentences, target)


def spans(texts: Texts, split: Split) -> Iterator[Span]:
    """Divide a split into spans of similar amounts of text."""
    start = size = 0
    for number, length in enumerate(texts.sizes().tolist()):
        if size and size + length > _SPAN_BYTES:
            yield Span(split, start, number)
            start, size = number, 0
        size += length
    if size:
        yield Span(split, start, len(texts))
