"""Statistics of one document and its summary, and of the documents of a split.

Contamination of evaluation documents by training documents is equal texts, and shared 13-grams of words. All training
documents are read, but only a bounded sample of the evaluation documents' n-grams is searched for, so memory does not
grow with the data. N-grams are compared by 64-bit hashes.
"""

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sumpool.data.inputs import Split
from sumpool.data.report import LONG_DOCUMENT_TOKENS, LOW_LEAK, LengthStats, SplitReport
from sumpool.data.sources._base import Example
from sumpool.data.texts import Texts
from sumpool.text.fragments import overlap
from sumpool.text.language import split_words

NGRAMS = (1, 2, 3, 4)

NGRAM_WORDS = 13
MAX_DOCUMENTS = 200
"""Documents sampled from a split, evenly spaced."""
MAX_NGRAMS = 2000
"""N-grams sampled from a document, evenly spaced."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class DocumentStats:
    """Statistics of a document and its summary.

    Attributes:
        document_words: White-space-separated words of the document.
        summary_words: White-space-separated words of the summary.
        document_tokens: Tokens of the document.
        summary_tokens: Tokens of the summary, without EOS.
        coverage: Extractive coverage: fraction of the summary's words in fragments of the document.
        density: Extractive density: mean length in words of the fragment that a summary word belongs to.
        leak: Fraction of the summary's 8-grams that occur in the document.
        novel: Fraction of the summary's n-grams that do not occur in the document, for n = 1 to 4.
        digest: 64-bit hash of the document text, to detect duplicates.
    """

    document_words: int
    summary_words: int
    document_tokens: int
    summary_tokens: int
    coverage: float
    density: float
    leak: float
    novel: tuple[float, ...]
    digest: int


def document_stats(example: Example, document: list[str], document_tokens: int, summary_tokens: int) -> DocumentStats:
    """Compute the statistics of a document, given its words without case and punctuation."""
    shared = overlap(document, split_words(example.summary))
    return DocumentStats(
        document_words=len(example.text.split()),
        summary_words=len(example.summary.split()),
        document_tokens=document_tokens,
        summary_tokens=summary_tokens,
        coverage=shared.coverage,
        density=shared.density,
        leak=shared.leak,
        novel=tuple(shared.novel_ngrams(size) for size in NGRAMS),
        digest=text_digest(example.text),
    )


def text_digest(text: str) -> int:
    """Return a 64-bit hash of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


def summarize_split(
    stats: Sequence[DocumentStats], training: Sequence[int], runs_in_training: float | None
) -> SplitReport:
    """Aggregate the statistics of a split.

    Args:
        stats: Statistics of its documents.
        training: Text digests of the training documents; empty for the training split.
        runs_in_training: Fraction of the sampled 13-grams that are in training documents; None for the training split.
    """
    digests = [document.digest for document in stats]
    training_digests = set(training)
    return SplitReport(
        documents=len(stats),
        document_words=LengthStats.of([document.document_words for document in stats]),
        document_tokens=LengthStats.of([document.document_tokens for document in stats]),
        summary_words=LengthStats.of([document.summary_words for document in stats]),
        summary_tokens=LengthStats.of([document.summary_tokens for document in stats]),
        long_documents=_mean([document.document_tokens > LONG_DOCUMENT_TOKENS for document in stats]),
        compression=_mean([document.document_words / document.summary_words for document in stats]),
        coverage=_mean([document.coverage for document in stats]),
        density=_mean([document.density for document in stats]),
        novel_ngrams=tuple(_mean(fractions) for fractions in zip(*(document.novel for document in stats), strict=True)),
        leak=_mean([document.leak for document in stats]),
        low_leak=_mean([document.leak < LOW_LEAK for document in stats]),
        duplicates=len(digests) - len(set(digests)),
        in_training=sum(digest in training_digests for digest in digests),
        runs_in_training=runs_in_training,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)


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
