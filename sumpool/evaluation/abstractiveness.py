"""How a summary is written, whatever it says: its length, what it repeats, what it copies."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sumpool.text.fragments import overlap, words

_FACT = re.compile(r"(?<!\w)(?:\w*\d\w*|\w*[A-Z]\w*[A-Z]\w*|(?<=[\w,;)] )[A-Z]\w*)(?!\w)", re.ASCII)
"""A word with a digit, one with two capitals, or one with a capital within a sentence."""


@dataclass(frozen=True)
class Copying:
    """How a summary uses its document's words (Grusky et al., 2018, arXiv:1804.11283).

    Attributes:
        coverage: Share of the words inside shared fragments.
        density: Mean length of the fragment that a word belongs to, in words.
        novel_bigrams: Share of the pairs of words that the document lacks.
        leak: Share of the runs of eight words that stand in the document.
        facts: Numbers and names, as far as their spelling tells.
        unfounded: How many of them the document lacks.
    """

    coverage: float
    density: float
    novel_bigrams: float
    leak: float
    facts: int
    unfounded: int


def copying(summary: str, document_words: Sequence[str]) -> Copying:
    """Compare a summary with its document.

    Args:
        summary: The summary.
        document_words: The document's `words`, split once for several summaries.
    """
    found = overlap(document_words, words(summary))
    facts = [fact.lower() for fact in _FACT.findall(summary)]
    known = set(document_words) if facts else set()
    unfounded = sum(fact not in known for fact in facts)
    return Copying(found.coverage, found.density, found.novel_ngrams(2), found.leak, len(facts), unfounded)


def repetition(summary: str) -> float:
    """Share of a summary's runs of three words that occurred in it before; 0 if it has no such run."""
    run = words(summary)
    trigrams = list(zip(run, run[1:], run[2:], strict=False))
    return 1 - len(set(trigrams)) / len(trigrams) if trigrams else 0.0
