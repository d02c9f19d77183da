"""Reference-free measures of a summary: copying from the document, unsupported facts, repetition."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sumpool.text.fragments import overlap, words

_FACT = re.compile(r"(?<!\w)(?:\w*\d\w*|\w*[A-Z]\w*[A-Z]\w*|(?<=[\w,;)] )[A-Z]\w*)(?!\w)", re.ASCII)
"""Word with a digit, word with two capitals, or capitalised word within a sentence."""


@dataclass(frozen=True)
class Copying:
    """Overlap of a summary with its document (Grusky et al., 2018, arXiv:1804.11283).

    Attributes:
        coverage: Fraction of words in fragments shared with the document.
        density: Mean length of the shared fragment that a word belongs to, in words.
        novel_bigrams: Fraction of bigrams that do not occur in the document.
        leak: Fraction of 8-grams that occur in the document.
        facts: Count of numbers and names, recognised by their spelling.
        unsupported: Count of facts that do not occur in the document.
    """

    coverage: float
    density: float
    novel_bigrams: float
    leak: float
    facts: int
    unsupported: int


def copying(summary: str, document_words: Sequence[str]) -> Copying:
    """Compare a summary with its document.

    Args:
        summary: The summary.
        document_words: The document's `words`, split once for several summaries.
    """
    shared = overlap(document_words, words(summary))
    facts = [fact.lower() for fact in _FACT.findall(summary)]
    vocabulary = set(document_words) if facts else set()
    unsupported = sum(fact not in vocabulary for fact in facts)
    return Copying(shared.coverage, shared.density, shared.novel_ngrams(2), shared.leak, len(facts), unsupported)


def repetition(summary: str) -> float:
    """Return the fraction of trigrams that occurred earlier in the summary; 0 without trigrams."""
    tokens = words(summary)
    trigrams = list(zip(tokens, tokens[1:], tokens[2:], strict=False))
    return 1 - len(set(trigrams)) / len(trigrams) if trigrams else 0.0
