"""The figures of one document, from which the data report is made."""

import hashlib
from dataclasses import dataclass

from sumpool.data.sources._base import Example
from sumpool.text.fragments import overlap, words

NGRAMS = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class DocumentStats:
    """What the report counts of a document and its summary.

    Attributes:
        document_words: Words between spaces.
        summary_words: Words between spaces.
        document_tokens: Pieces of the vocabulary.
        summary_tokens: Pieces of the vocabulary, the end not counted.
        coverage: Share of the summary's words in fragments of the document.
        density: Mean length of the fragment that a word of the summary belongs to, in words.
        leak: Share of the summary's 8-grams that stand in the document.
        novel: Share of the summary's n-grams that the document lacks, for n = 1 to 4.
        digest: 64 bits of the document's text, for finding equal ones.
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


def measure(example: Example, document: list[str], document_tokens: int, summary_tokens: int) -> DocumentStats:
    """Take the figures of a document.

    Args:
        example: The document and its summary.
        document: The document's words, without case and punctuation.
        document_tokens: Pieces of the document.
        summary_tokens: Pieces of the summary.
    """
    shared = overlap(document, words(example.summary))
    return DocumentStats(
        document_words=len(example.document.split()),
        summary_words=len(example.summary.split()),
        document_tokens=document_tokens,
        summary_tokens=summary_tokens,
        coverage=shared.coverage,
        density=shared.density,
        leak=shared.leak,
        novel=tuple(shared.novel_ngrams(size) for size in NGRAMS),
        digest=text_digest(example.document),
    )


def text_digest(text: str) -> int:
    """64 bits of a text, the same for equal texts."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
