"""Contamination of evaluation documents by training documents: equal texts, and shared 13-grams of words.

All training documents are read, but only a bounded sample of the evaluation documents' n-grams is searched for, so
memory does not grow with the data. N-grams are compared by 64-bit hashes.
"""

import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from sumpool.data.document_stats import text_digest
from sumpool.data.sources._base import Split
from sumpool.data.texts import Texts

NGRAM_WORDS = 13
MAX_DOCUMENTS = 200
"""Documents sampled from a split, evenly spaced."""
MAX_NGRAMS = 2000
"""N-grams sampled from a document, evenly spaced."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def sample_ngrams(documents: Iterable[Sequence[str]]) -> np.ndarray:
    """Return the distinct n-grams sampled from documents, given their words: (ngrams,) uint64, sorted."""
    samples = [np.empty(0, np.uint64)]
    for words in documents:
        ngrams = hash_ngrams(words)
        samples.append(ngrams[:: max(1, -(-len(ngrams) // MAX_NGRAMS))])
    return np.unique(np.concatenate(samples))


def find_ngrams(sampled: np.ndarray, words: Sequence[str]) -> np.ndarray:
    """Return the indices of the sampled n-grams that occur in a document.

    Args:
        sampled: (ngrams,) uint64, sorted.
        words: Words of the document.
    """
    if not len(sampled):
        return np.empty(0, np.int64)
    ngrams = hash_ngrams(words)
    indices = np.searchsorted(sampled, ngrams)
    indices[indices == len(sampled)] = 0
    return np.unique(indices[sampled[indices] == ngrams])


def documents_in_training(folder: Path, split: Split) -> list[str]:
    """Return the ids of the documents of a prepared split whose text a training document has too."""
    training = {text_digest(example.text) for example in Texts.open(folder, "train")}
    return [example.id for example in Texts.open(folder, split) if text_digest(example.text) in training]


def hash_ngrams(words: Sequence[str]) -> np.ndarray:
    """Hash every 13-gram of words: (len(words) - 12,) uint64, equal in all processes."""
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
