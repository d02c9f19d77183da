"""Application of Punkt (Kiss and Strunk, 2006), an algorithm for sentence boundaries with learnt abbreviations.

Every end mark that white space or punctuation follows is a candidate. Whether it ends a sentence depends on the two
tokens around it: their types, known abbreviations and collocations, and the case in which the second occurs elsewhere.
Decisions equal those of nltk, whose import takes longer than most documents; nltk is needed for training only.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from string import whitespace
from typing import Final, Self, final

from sumpool.io.bounded import parse_json

END_MARKS: Final = frozenset(".?!")
_QUOTES = "\"'\u2018\u2019\u201c\u201d\u00ab\u00bb"
_NO_WORD = rf"[\[\](){{}};:*@{_QUOTES}?!]"
"""Characters that end a word."""
_DOTS = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"
_CANDIDATE = re.compile(rf"[.?!](?=(?P<after>{_NO_WORD}|\s+(?P<next>\S+)))")
_TOKEN = re.compile(
    rf"{_DOTS}|(?=[^\[\](){{}}\"`:;&#*@,-])\S+?(?=\s|$|{_NO_WORD}|{_DOTS}|,(?:$|\s|{_NO_WORD}|{_DOTS}))|\S"
)
_CLOSING = re.compile(rf"[)\]}}{_QUOTES}]+?(?:\s+|(?=--)|$)")
"""Punctuation after an end mark that belongs to the sentence before it."""
_NUMBER = re.compile(r"-?[.,]?\d[\d,.-]*\.?")
_NUMBER_TYPE = "##number##"
_INITIAL = re.compile(r"[^\W\d]\.")
_PUNCTUATION = frozenset(";:,.!?")

_INTERNAL_UPPER, _INITIAL_LOWER = 1 << 2, 1 << 4
"""Flags of nltk for the context of a word type: inside a sentence in upper case, at the start of one in lower case."""
_UPPER, _LOWER = 0b0001110, 0b1110000
"""Flags for upper and for lower case in any context."""


@final
@dataclass(frozen=True)
class PunktModel:
    """Parameters of Punkt, and their application.

    Attributes:
        abbreviations: Abbreviations in lower case without their final full stop.
        collocations: Types of words around a full stop that ends no sentence.
        starters: Types of words that often start sentences.
        contexts: For types of words, the flags of nltk for the contexts in which they occur.
    """

    abbreviations: frozenset[str] = frozenset()
    collocations: frozenset[tuple[str, str]] = frozenset()
    starters: frozenset[str] = frozenset()
    contexts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises:
            ValueError, TypeError or KeyError: If the text is anything else.
        """
        content = parse_json(text)
        pairs = [pair.split(" ") for pair in _words(content["collocations"])]
        return cls(
            frozenset(_words(content["abbreviations"])),
            frozenset((first, second) for first, second in pairs),
            frozenset(_words(content["sentence_starters"])),
            {word: int(flags) for word, flags in content["orthographic_context"].items()},
        )

    def to_json(self) -> str:
        """Serialise the parameters in alphabetical order, one entry per line."""
        content = {
            "abbreviations": sorted(self.abbreviations),
            "collocations": sorted(" ".join(pair) for pair in self.collocations),
            "sentence_starters": sorted(self.starters),
            "orthographic_context": {word: flags for word, flags in sorted(self.contexts.items()) if flags},
        }
        return json.dumps(content, ensure_ascii=False, indent=0) + "\n"

    def split(self, text: str) -> list[str]:
        """Split a text into sentences, without the white space between them."""
        spans = list(self._spans(text))
        sentences: list[str] = []
        shift = 0  # characters at the start of a sentence that belong to the sentence before it
        for index, (start, end) in enumerate(spans):
            start += shift
            shift = 0
            if index + 1 < len(spans):
                following, stop = spans[index + 1]
                closing = _CLOSING.match(text, following, stop)
                if closing:
                    end, shift = following + len(closing[0].rstrip()), closing.end() - following
            if start < end:
                sentences.append(text[start:end])
        return sentences

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield start and end of each sentence, closing punctuation counted to the following one."""
        start = 0
        for word, candidate in _candidates(text):
            if self._ends_sentence(text[word : candidate.end("after")]):
                yield start, candidate.end()
                start = candidate.start("next") if candidate["next"] else candidate.end()
        yield start, len(text.rstrip())

    def _ends_sentence(self, context: str) -> bool:
        """Return whether one of the tokens of a context ends a sentence and another follows it."""
        tokens = [token for line in context.split("\n") for token in _TOKEN.findall(line)]
        return any(self._is_boundary(*pair) for pair in pairwise(tokens))

    def _is_boundary(self, token: str, following: str) -> bool:
        if token in ("?", "!"):
            return True
        if not token.endswith("."):
            return False
        ends = self._ends_by_type(token)
        name = _type(token, without_stop=True)
        next_name = _type(following, without_stop=self._ends_by_type(following))
        if (name, next_name) in self.collocations:
            return False
        is_initial = bool(_INITIAL.fullmatch(token))
        starts = self._starts_sentence(following, next_name)
        if not ends and not is_initial:
            return starts is True or (following[0].isupper() and next_name in self.starters)
        if not is_initial and name != _NUMBER_TYPE:
            return ends
        if starts is False:
            return False
        is_name = starts is None and is_initial and following[0].isupper()
        return ends and not (is_name and not self.contexts.get(next_name, 0) & _LOWER)

    def _ends_by_type(self, token: str) -> bool:
        """Return whether a token alone, without what follows, is taken for the end of a sentence."""
        if token in END_MARKS:
            return True
        if not token.endswith(".") or token.endswith(".."):
            return False
        name = token[:-1].lower()
        return not (name in self.abbreviations or name.rpartition("-")[2] in self.abbreviations)

    def _starts_sentence(self, token: str, name: str) -> bool | None:
        """Return whether the case of a token tells that it starts a sentence; None if it does not tell."""
        if token in _PUNCTUATION:
            return False
        context = self.contexts.get(name, 0)
        if token[0].isupper() and context & _LOWER and not context & _INTERNAL_UPPER:
            return True
        if token[0].islower() and (context & _UPPER or not context & _INITIAL_LOWER):
            return False
        return None


def _candidates(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the last candidate of each run without white space, also one at its start, and the start of the run."""
    start, previous = 0, None
    for match in _CANDIDATE.finditer(text):
        before = text[previous.start() if previous else 0 : match.start()]
        space = max(map(before.rfind, whitespace))
        word = match.start() - len(before) + space + 1 if space > 0 else start
        if previous and previous.start() <= word:
            yield start, previous
        start, previous = word, match
    if previous:
        yield start, previous


def _type(token: str, *, without_stop: bool) -> str:
    """Return the type of a token: lower case, one name for all numbers, maybe without its final full stop."""
    name = token.lower()
    if _NUMBER.fullmatch(name):
        return _NUMBER_TYPE
    return name[:-1] if without_stop and len(name) > 1 and name.endswith(".") else name


def _words(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise TypeError("a list of other things than words")
    return value
