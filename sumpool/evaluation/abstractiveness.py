"""How a summary is written, whatever it says: its length, what it repeats, what it copies."""

from dataclasses import dataclass

from sumpool.text.fragments import overlap, words


@dataclass(frozen=True)
class Copying:
    """How a summary uses its document's words (Grusky et al., 2018, arXiv:1804.11283).

    Attributes:
        coverage: Share of the words inside shared fragments.
        density: Mean length of the fragment that a word belongs to, in words.
        novel_bigrams: Share of the pairs of words that the document lacks.
        leak: Share of the runs of eight words that stand in the document.
    """

    coverage: float
    density: float
    novel_bigrams: float
    leak: float


def copying(summary: str, document_words: list[str]) -> Copying:
    """Compare a summary with its document.

    Args:
        summary: The summary.
        document_words: The document's `words`, split once for several summaries.
    """
    found = overlap(document_words, words(summary))
    return Copying(found.coverage, found.density, found.novel_ngrams(2), found.leak)


def repetition(summary: str) -> float:
    """Share of a summary's runs of three words that occurred in it before; 0 if it has no such run."""
    run = words(summary)
    trigrams = list(zip(run, run[1:], run[2:], strict=False))
    return 1 - len(set(trigrams)) / len(trigrams) if trigrams else 0.0
