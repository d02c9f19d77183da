"""Statistics of one document and its summary, and of the documents of a split."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from sumpool.data.report import LONG_DOCUMENT_TOKENS, LOW_LEAK, LengthStats, SplitReport
from sumpool.data.sources._base import Example
from sumpool.text.fragments import overlap
from sumpool.text.language import split_words

NGRAMS = (1, 2, 3, 4)


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
