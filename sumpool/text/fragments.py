"""How much of a summary stands in its document, word for word.

Coverage and density are those of Grusky et al. (2018, arXiv:1804.11283): read from the left, a summary falls into the
longest fragments that its document holds; coverage is the share of words inside fragments, density the mean length of
the fragment that a word belongs to. The paper compares every pair of positions. Here the suffix automaton of the
summary reads the document once, so that the time is linear in both, whatever the text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_WORD = re.compile(r"\w+")
LEAK = 8
"""Words of a run that counts as leaked: nobody writes so many twice by chance."""


def words(text: str) -> list[str]:
    """Split into lower-cased words; punctuation is left out."""
    return _WORD.findall(text.lower())


@dataclass(frozen=True)
class Overlap:
    """Where a summary repeats its document.

    Attributes:
        runs: For each word of the summary, length of the longest run that ends with it and stands in the document, in
            words; 0 where the document lacks the word.
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
        """Share of the summary's words that stand in a fragment."""
        return sum(self.fragments) / max(len(self.runs), 1)

    @property
    def density(self) -> float:
        """Mean length of the fragment that a word of the summary belongs to, in words."""
        return sum(length**2 for length in self.fragments) / max(len(self.runs), 1)

    def shared_ngrams(self, size: int) -> float:
        """Share of the summary's runs of `size` words that stand in the document; each occurrence counts.

        A summary without a run of that size shares none.
        """
        ends = self.runs[size - 1 :]
        return sum(run >= size for run in ends) / max(len(ends), 1)

    def novel_ngrams(self, size: int) -> float:
        """Share of the summary's runs of `size` words that the document lacks; 0 if the summary has no such run."""
        return 1 - self.shared_ngrams(size) if len(self.runs) >= size else 0.0

    @property
    def leak(self) -> float:
        """Share of the summary's 8-grams that stand in the document."""
        return self.shared_ngrams(LEAK)


def overlap(document: Sequence[str], summary: Sequence[str]) -> Overlap:
    """Find every run of words that a summary shares with its document.

    Args:
        document: Words of the document.
        summary: Words of the summary.
    """
    automaton = _SuffixAutomaton()
    ends = [automaton.append(word) for word in summary]
    found = automaton.longest_in(document)
    return Overlap(tuple(found[state] for state in ends))


@dataclass
class _SuffixAutomaton:
    """Recognises every run of the words that it was given.

    A state stands for the runs that end at the same places. `longest` is the length of its longest run; its shorter
    runs are suffixes of that one, down to the first that also ends elsewhere, which belongs to the state `parent`.
    """

    steps: list[dict[str, int]] = field(default_factory=lambda: [{}])
    parent: list[int] = field(default_factory=lambda: [-1])
    longest: list[int] = field(default_factory=lambda: [0])
    last: int = 0

    def append(self, word: str) -> int:
        """Lengthen the text by a word and return the state of the whole text."""
        new = self._add({}, self.longest[self.last] + 1)
        state = self.last
        while state >= 0 and word not in self.steps[state]:
            self.steps[state][word] = new
            state = self.parent[state]
        self.parent[new] = self._ending_at(state, word) if state >= 0 else 0
        self.last = new
        return new

    def longest_in(self, document: Sequence[str]) -> list[int]:
        """Length of the longest run of each state, or of a suffix of it, that stands in a document; linear time."""
        found = [0] * len(self.steps)
        state = length = 0
        for word in document:
            while state and word not in self.steps[state]:
                state = self.parent[state]
                length = self.longest[state]
            if word in self.steps[state]:
                state = self.steps[state][word]
                length += 1
                found[state] = max(found[state], length)
        order = sorted(range(1, len(found)), key=self.longest.__getitem__)
        for state in reversed(order):  # whoever holds a run holds its suffixes
            if found[state]:
                found[self.parent[state]] = self.longest[self.parent[state]]
        for state in order:
            found[state] = found[state] or found[self.parent[state]]
        return found

    def _add(self, steps: dict[str, int], longest: int) -> int:
        self.steps.append(steps)
        self.parent.append(0)
        self.longest.append(longest)
        return len(self.steps) - 1

    def _ending_at(self, state: int, word: str) -> int:
        """The state of the runs of `state` followed by `word`, split off if longer runs share it."""
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
