"""Comparison of a generated sentence with its sources.

A model with a pointer splices spans of its document, and a number or a name that stands somewhere in the document may
still be wrong in the sentence. A generated sentence is therefore compared with its *sources* alone, the source
sentences that its words were copied from: those that share trigrams of words with it, chosen greedily by the words
that each adds (`_MIN_COPIED` at least). Words are compared in lower case, without negations, and numbers as digits.

- Each number and each name, recognised by its spelling, must occur in one of the sources.
- Each word that is shared with a source within a trigram must follow a negation (not, no, never, without ...) if and
  only if it does so there. A negation before any other word must occur in a source.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple, final

_MIN_COPIED = 3
"""Words of a generated sentence that a further source must add."""
_NGRAM = 3
_WORD = re.compile(r"\d+(?:[.,:/]\d+)+|\w+(?:['\u2019]\w+)*")
_NEGATIONS = frozenset(("not", "no", "never", "neither", "nor", "none", "without", "nothing"))
_CONTRACTION = re.compile(r"n['\u2019]t$|(?<=^can)not$")
_UNITS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS = {
    **{word: str(number) for number, word in enumerate(_UNITS, 2)},
    **{word: str(10 * number) for number, word in enumerate(_TENS, 2)},
    **{"hundred": "100", "thousand": "1000", "million": "1000000"},
}
"""Number words and their digits; "one" is left out, as it is mostly a pronoun."""


@dataclass(frozen=True)
class FactCheck:
    """Comparison of a generated sentence with its document.

    Attributes:
        unfounded: Numbers and names that no source has, and "not WORD" for each word that follows a negation either in
            the sentence or in the sources, but not in both.
        sources: Indices of the sources, the one with the most copied words first; empty if nothing was copied.
        copied: Fraction of the words that were copied from the first source.
        spliced: Number of trigrams that the document does not have; a sentence of fewer words counts as one n-gram.
    """

    unfounded: tuple[str, ...]
    sources: tuple[int, ...]
    copied: float
    spliced: int


class _Word(NamedTuple):
    """Word of a sentence: its surface, its form for comparison, and whether a negation precedes it."""

    surface: str
    form: str
    is_negated: bool


@final
class FactChecker:
    """Compares generated sentences with the sentences of a document."""

    def __init__(self, sentences: Sequence[str]) -> None:
        """Index the trigrams of all sentences of the document."""
        self._sentences = [list(_words(sentence)) for sentence in sentences]
        self._positions: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
        lower: set[str] = set()
        inner: set[str] = set()
        for index, sentence in enumerate(self._sentences):
            for start, ngram in enumerate(_ngrams(sentence)):
                self._positions[ngram].append((index, start))
            lower.update(word.form for word in sentence if word.surface[:1].islower())
            inner.update(word.form for word in sentence[1:] if word.surface[:1].isupper())
        self._names = inner - lower
        """Words that the document capitalises within a sentence and never writes in lower case."""

    def check(self, sentence: str) -> FactCheck:
        """Compare a generated sentence with its sources."""
        words = list(_words(sentence))
        # for each source sentence, the positions of the words that it shares, and whether a negation precedes them
        shared: dict[int, dict[int, set[bool]]] = defaultdict(lambda: defaultdict(set))
        for start, ngram in enumerate(_ngrams(words)):
            for index, position in self._positions.get(ngram, ()):
                for offset in range(len(ngram)):
                    shared[index][start + offset].add(self._sentences[index][position + offset].is_negated)
        sources = _sources({index: set(negations) for index, negations in shared.items()})
        forms = {word.form for index in sources for word in self._sentences[index]}
        # The first word of a sentence is always capitalised: it is a name only if the document has it as one.
        facts = (
            word
            for position, word in enumerate(words)
            if any(map(str.isdigit, word.form + word.surface))
            or sum(map(str.isupper, word.surface)) > 1
            or (word.surface[0].isupper() and len(word.surface) > 1 and (position > 0 or word.form in self._names))
        )
        unfounded = [word.surface for word in facts if word.form not in forms]
        unfounded += self._changed_negations(words, sources, [shared[index] for index in sources])
        return FactCheck(
            unfounded=tuple(unfounded),
            sources=tuple(sources),
            copied=len(shared[sources[0]]) / len(words) if sources else 0.0,
            spliced=sum(ngram not in self._positions for ngram in _ngrams(words)),
        )

    def _changed_negations(
        self, words: Sequence[_Word], sources: Sequence[int], shared: Sequence[Mapping[int, Set[bool]]]
    ) -> Iterator[str]:
        """Yield "not WORD" for each word that follows a negation in the sentence or in its sources, but not in both."""
        has_negation = any(word.is_negated for index in sources for word in self._sentences[index])
        for position, word in enumerate(words):
            negations = [values[position] for values in shared if position in values]
            if any(word.is_negated in values for values in negations):
                continue
            if negations or (word.is_negated and not has_negation):
                yield f"not {word.surface}"


def word_forms(text: str) -> set[str]:
    """Return the words of a text in the form in which they are compared."""
    return {word.form for word in _words(text)}


def is_negative(text: str) -> bool:
    """Return whether a text has a negation before a word."""
    return any(word.is_negated for word in _words(text))


def _words(sentence: str) -> Iterator[_Word]:
    """Split a sentence into words; negations become a property of the next word."""
    is_negated = False
    for match in _WORD.finditer(sentence):
        surface = match.group()
        stem = _CONTRACTION.sub("", surface)
        if not stem or surface.lower() in _NEGATIONS:  # no stem: "n't" by itself, torn from its verb
            is_negated = True
            continue
        # in lower case, numbers as digits, names without plural and possessive
        base = stem.replace("\u2019", "'").removesuffix("'s").removesuffix("'")
        if base[-1:] == "s" and base[:-1].isupper():
            base = base[:-1]
        yield _Word(stem, _NUMBERS.get(base.lower(), base.lower()), is_negated)
        is_negated = stem != surface


def _ngrams(words: Sequence[_Word]) -> Iterator[tuple[str, ...]]:
    forms = [word.form for word in words]
    size = min(_NGRAM, len(forms))
    return zip(*(forms[offset : len(forms) - size + 1 + offset] for offset in range(size)), strict=True)


def _sources(covered: Mapping[int, Set[int]]) -> list[int]:
    """Choose source sentences greedily by the words that each adds, of equals the earlier ones first."""
    chosen: list[int] = []
    rest = dict(covered)
    while rest:
        index = min(rest, key=lambda index: (-len(rest[index]), -len(covered[index]), index))
        words = rest.pop(index)
        if chosen and len(words) < _MIN_COPIED:
            break
        chosen.append(index)
        rest = {index: others - words for index, others in rest.items()}
    return chosen
