"""Measures of a summary without a reference: copying from the document, unsupported facts, repetition.

Extractive fragments are the word sequences that a summary shares with its document.
Coverage and density are those of Grusky et al. (2018, arXiv:1804.11283): a summary is divided greedily from the left
into the longest fragments that occur in the document; coverage is the fraction of words inside fragments, density the
mean length of the fragment that a word belongs to.
"""

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise

import numpy as np

from sumpool.text.language import split_words

LEAK_WORDS = 8
"""Words of an n-gram that counts as leaked: so many are not the same by chance."""
_FACT = re.compile(r"(?<!\w)(?:\w*\d\w*|\w*[A-Z]\w*[A-Z]\w*|(?<=[\w,;)] )[A-Z]\w*)(?!\w)", re.ASCII)
"""Word with a digit, word with two capitals, or capitalised word within a sentence."""


@dataclass(frozen=True)
class Overlap:
    """Word sequences shared by a summary and its document.

    Attributes:
        runs: For each word of the summary, length in words of the longest sequence that ends with it and occurs in the
            document; 0 if the document does not contain the word.
    """

    runs: tuple[int, ...]

    @property
    def fragments(self) -> list[int]:
        """Lengths of the longest shared fragments, taken greedily from the left, in words."""
        lengths = []
        length = 0
        for run in self.runs:
            if run > length:
                length += 1
                continue
            if length:
                lengths.append(length)
            length = min(run, 1)
        return [*lengths, length] if length else lengths

    @property
    def coverage(self) -> float:
        """Fraction of the summary's words inside fragments."""
        return sum(self.fragments) / max(len(self.runs), 1)

    @property
    def density(self) -> float:
        """Mean length of the fragment that a word of the summary belongs to, in words."""
        return sum(length**2 for length in self.fragments) / max(len(self.runs), 1)

    def shared_ngrams(self, size: int) -> float:
        """Fraction of the summary's n-grams of `size` words that occur in the document; 0 for a shorter summary.

        Every occurrence counts.
        """
        ends = self.runs[size - 1 :]
        return sum(run >= size for run in ends) / max(len(ends), 1)

    def novel_ngrams(self, size: int) -> float:
        """Fraction of the summary's n-grams of `size` words that the document lacks; 0 for a shorter summary."""
        return 1 - self.shared_ngrams(size) if len(self.runs) >= size else 0.0

    @property
    def leak(self) -> float:
        """Fraction of the summary's 8-grams that occur in the document."""
        return self.shared_ngrams(LEAK_WORDS)


def overlap(document: Sequence[str], summary: Sequence[str]) -> Overlap:
    """Find the word sequences that a summary shares with its document, both split into words, see `split_words`."""
    numbers = {word: number for number, word in enumerate(dict.fromkeys(summary))}
    words = np.array([numbers.get(word, -1) for word in document], np.int32)
    shared = np.zeros(len(words) + 1, np.int32)  # length of the sequence that ends before each word of the document
    runs = []
    for word in summary:
        longer = shared[:-1] + 1
        longer[words != numbers[word]] = 0
        shared[1:] = longer
        runs.append(int(longer.max(initial=0)))
    return Overlap(tuple(runs))


@dataclass(frozen=True)
class Copying:
    """Overlap of a summary with its document.

    Attributes:
        leak: Fraction of 8-grams that occur in the document.
        facts: Count of numbers and names, recognised by their spelling.
        unsupported: Count of facts that do not occur in the document.
    """

    leak: float
    facts: int
    unsupported: int


def copying(
    summaries: Sequence[str], document_words: Sequence[str], tokenize: Callable[[str], list[str]] = split_words
) -> list[Copying]:
    """Compare summaries of a document with it.

    Args:
        summaries: The summaries, compared in one pass over the document.
        document_words: The document's words by `tokenize`.
        tokenize: Tokenizer without stemming.
    """
    split_summaries = [tokenize(summary) for summary in summaries]
    # A line feed is never a word, so no shared sequence crosses two summaries.
    runs = overlap(document_words, list(chain.from_iterable([*summary, "\n"] for summary in split_summaries))).runs
    ends = list(accumulate(len(summary) + 1 for summary in split_summaries))
    vocabulary = set(document_words)
    copied = []
    for summary, (start, end) in zip(summaries, pairwise([0, *ends]), strict=True):
        shared = Overlap(runs[start : end - 1])
        facts = (len(_FACT.findall(summary)), len(unsupported_facts(summary, vocabulary)))
        copied.append(Copying(shared.leak, *facts))
    return copied


def unsupported_facts(summary: str, vocabulary: Set[str]) -> list[str]:
    """Return the numbers and names of a summary that are not among the words of its document, in order."""
    # An identifier such as x86_64 is several words.
    return [fact for fact in _FACT.findall(summary) if not vocabulary >= set(split_words(fact))]


def repetition(summary: str, tokenize: Callable[[str], list[str]] = split_words) -> float:
    """Return the fraction of trigrams that occurred earlier in the summary; 0 without trigrams."""
    tokens = tokenize(summary)
    trigrams = list(zip(tokens, tokens[1:], tokens[2:], strict=False))
    return 1 - len(set(trigrams)) / len(trigrams) if trigrams else 0.0
