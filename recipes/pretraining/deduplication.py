"""Removal of repeated paragraphs, and of paragraphs that share a 13-gram with held-out documents."""

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from sumpool.data.config import Example
from sumpool.data.sources import RfcSourceConfig
from sumpool.text.language import split_words

NGRAM_WORDS = 13
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
MAX_HELD_OUT = 0.1
"""Share of the words of a text in paragraphs of held-out documents, above which the whole text is dropped."""


def hash_ngrams(words: Sequence[str]) -> np.ndarray:
    """Hash every 13-gram of words: (len(words) - 12,) uint64."""
    count = len(words) - NGRAM_WORDS + 1
    if count < 1:
        return np.empty(0, np.uint64)
    hashes = np.fromiter((zlib.crc32(word.encode()) for word in words), np.uint64, len(words))
    hashes *= _FACTOR  # spreads the hashes over 64 bits; array arithmetic wraps around
    hashes ^= hashes >> np.uint64(29)
    ngrams = np.zeros(count, np.uint64)
    for offset in range(NGRAM_WORDS):
        ngrams *= _FACTOR
        ngrams += hashes[offset : offset + count]
    return ngrams


class HeldOut:
    """13-grams of documents and summaries that no training text may share."""

    def __init__(self, texts: Iterable[str]) -> None:
        hashes = [hash_ngrams(split_words(text)) for text in texts]
        self._hashes = np.unique(np.concatenate([np.empty(0, np.uint64), *hashes]))

    def __len__(self) -> int:
        return len(self._hashes)

    def remove(self, paragraphs: Sequence[str]) -> list[str]:
        """Return the paragraphs that share no 13-gram; none if more than a tenth of the words are in others."""
        counted = [split_words(paragraph) for paragraph in paragraphs]
        sizes = np.array([len(paragraph) for paragraph in counted])
        hashes = hash_ngrams([word for paragraph in counted for word in paragraph])
        if not len(hashes) or not len(self._hashes):
            return list(paragraphs)
        places = np.searchsorted(self._hashes, hashes)
        places[places == len(self._hashes)] = 0
        starts = np.flatnonzero(self._hashes[places] == hashes)
        owners = np.repeat(np.arange(len(sizes)), sizes)
        shared = np.zeros(len(sizes), bool)
        for offset in range(NGRAM_WORDS):
            shared[owners[starts + offset]] = True
        if sizes[shared].sum() > MAX_HELD_OUT * sizes.sum():
            return []
        return [paragraph for paragraph, is_shared in zip(paragraphs, shared, strict=True) if not is_shared]


class Paragraphs:
    """Paragraphs read so far, compared by their words."""

    def __init__(self) -> None:
        self._digests: set[int] = set()

    def remove(self, paragraphs: Sequence[str]) -> list[str]:
        """Return the paragraphs that are new, and remember them."""
        new = []
        for paragraph in paragraphs:
            digest = hash(tuple(split_words(paragraph)))
            if digest not in self._digests:
                self._digests.add(digest)
                new.append(paragraph)
        return new


def held_out_texts(files: Iterable[Path], rfcs: Path | None) -> Iterator[str]:
    """Yield documents and summaries of JSON lines files, and of the validation and test split of the RFC series."""
    for file in files:
        for line in file.read_text().split("\n"):
            if line:
                row = json.loads(line)
                yield from (row["document"], row["summary"])
    if rfcs:
        for example in RfcSourceConfig(path=rfcs).rows():
            if isinstance(example, Example) and example.split != "train":
                yield from (example.document, example.summary)
