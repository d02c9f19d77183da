"""Measures of a summary without a reference: copying from the document, unsupported facts, repetition.

Extractive fragments are the word sequences that a summary shares with its document.
Coverage and density are those of Grusky et al. (2018, arXiv:1804.11283): a summary is divided greedily from the left
into the longest fragments that occur in the document; coverage is the fraction of words inside fragments, density the
mean length of the fragment that a word belongs to. The paper compares every pair of positions. A suffix automaton of
the summary reads the document once instead, in time linear in both.
"""

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise

from sumpool.text.language import split_words

LEAK_WORDS = 8
"""Words of an n-gram that counts as leaked: so many are not the same by chance."""
LOW_LEAK = 0.2
"""Fraction of leaked n-grams below which a summary counts as not copied from its document."""
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
    automaton = _SuffixAutomaton()
    ends = [automaton.append(word) for word in summary]
    lengths = automaton.longest_in(document)
    return Overlap(tuple(lengths[state] for state in ends))


@dataclass
class _SuffixAutomaton:
    """Suffix automaton (Blumer et al., 1985) of the appended words.

    A state stands for all sequences that end at the same positions. `longest` is the length of the longest of them; the
    others are its suffixes, down to the first that also ends elsewhere, which belongs to the state `parent`.
    """

    steps: list[dict[str, int]] = field(default_factory=lambda: [{}])
    parent: list[int] = field(default_factory=lambda: [-1])
    longest: list[int] = field(default_factory=lambda: [0])
    last: int = 0

    def append(self, word: str) -> int:
        """Append a word and return the state of the whole text."""
        new = self._add({}, self.longest[self.last] + 1)
        state = self.last
        while state >= 0 and word not in self.steps[state]:
            self.steps[state][word] = new
            state = self.parent[state]
        self.parent[new] = self._ending_at(state, word) if state >= 0 else 0
        self.last = new
        return new

    def longest_in(self, document: Sequence[str]) -> list[int]:
        """Length of the longest sequence of each state that occurs in a document; linear time."""
        lengths = [0] * len(self.steps)
        state = length = 0
        for word in document:
            while state and word not in self.steps[state]:
                state = self.parent[state]
                length = self.longest[state]
            if word in self.steps[state]:
                state = self.steps[state][word]
                length += 1
                lengths[state] = max(lengths[state], length)
        order = sorted(range(1, len(lengths)), key=self.longest.__getitem__)
        for state in reversed(order):  # a document that contains a sequence contains its suffixes
            if lengths[state]:
                lengths[self.parent[state]] = self.longest[self.parent[state]]
        for state in order:
            lengths[state] = lengths[state] or lengths[self.parent[state]]
        return lengths

    def _add(self, steps: dict[str, int], longest: int) -> int:
        self.steps.append(steps)
        self.parent.append(0)
        self.longest.append(longest)
        return len(self.steps) - 1

    def _ending_at(self, state: int, word: str) -> int:
        """State of the sequences of `state` followed by `word`, split off if longer sequences share it."""
        target = self.steps[state][word]
        if self.longest[target] == self.longest[state] + 1:
            return target
        copy = self._add(dict(self.steps[target]), self.longest[state] + 1)
        self.parent[copy] = self.parent[target]
        self.parent[target] = copy
        while state >= 0 and self.steps[state].get(word) == target:
            self.steps[state][word] = copy
            state = self.parent[state]
        return copy


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
