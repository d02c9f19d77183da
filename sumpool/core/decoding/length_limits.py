"""Constraints on the words and sentences of summaries, counted while they are written.

Words are separated by white space. A sentence ends with a full stop, an exclamation mark or a question mark, maybe
followed by closing quotes and brackets, before a word that begins with neither a lower-case letter nor a digit. Single
letters and some abbreviations end no sentence.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self, final

from sumpool.core.decoding.constraints import TokenSurfaces
from sumpool.core.decoding.ranking import LengthTarget

_SENTENCE_END = re.compile(rb"(?:[.!?]|\xe3\x80\x82)(?:[\"')\]]|\xe2\x80[\x99\x9d])*$")
_ABBREVIATION = re.compile(
    rb"(?:(?:^|[^a-z])[a-z]|\b(?:al|approx|cf|dr|ed|eds|etc|fig|inc|mr|ms|no|nos|sec|st|vol|vs))\.$", re.I
)


def length_limits(target: LengthTarget, surfaces: TokenSurfaces, eos: int) -> "LengthLimits":
    """Return the constraint of an empty summary that is to have a length."""
    limits = SentenceLimits if target.in_sentences else WordLimits
    return limits(target.minimum, target.maximum, surfaces, eos)


@dataclass(frozen=True)
class LengthLimits(ABC):
    """A summary has at least `minimum` and at most `maximum` words or sentences, and ends with a sentence.

    Between the limits, a summary may end after a sentence. At the upper limit no further word begins, and the summary
    may end anywhere.

    Attributes:
        minimum: Least words or sentences.
        maximum: Most words or sentences, at least 1.
        surfaces: Surface forms of the vocabulary.
        eos: Id of the token that ends a summary.
    """

    minimum: int
    maximum: int
    surfaces: TokenSurfaces
    eos: int
    _words: int = 0
    _sentences: int = 0
    """Sentences that another word has followed."""
    _word: bytes = b""
    """The current word, empty after white space."""
    _last: bytes = b""
    """The current word, or before white space the last one."""

    def __post_init__(self) -> None:
        if not 0 <= self.minimum <= self.maximum or self.maximum < 1:
            raise ValueError(f"limits must keep 0 <= minimum <= maximum, got {self.minimum} and {self.maximum}")

    def after(self, token: int) -> Self:
        """See `Constraint.after`."""
        part, starts = self.surfaces.parts[token], self.surfaces.starts[token]
        if not part:
            return replace(self, _word=b"") if starts else self
        if self._word and not starts:
            return replace(self, _word=self._word + part, _last=self._word + part)
        follows = self._words > 0 and self.ends_sentence() and not part[:1].islower() and not part[:1].isdigit()
        return replace(self, _words=self._words + 1, _sentences=self._sentences + follows, _word=part, _last=part)

    def forbidden(self) -> tuple[int, ...]:
        """Return EOS before the limits, and the tokens that begin a word at the upper one."""
        count = self.count()
        if count < self.minimum or (count < self.maximum and not self.ends_sentence()):
            return (self.eos,)
        return self.surfaces.beginning if count >= self.maximum else ()

    def is_met(self) -> bool:
        """Return whether the summary keeps the limits and ends with a sentence."""
        return self.minimum <= self.count() <= self.maximum and self.ends_sentence()

    @abstractmethod
    def count(self) -> int:
        """Return the number of words or sentences."""

    def ends_sentence(self) -> bool:
        """Return whether the last word ends a sentence."""
        return _SENTENCE_END.search(self._last) is not None and not _ABBREVIATION.search(self._last)


@final
class WordLimits(LengthLimits):
    """Limits on the words of a summary."""

    def count(self) -> int:
        """Return the number of words, the current one included."""
        return self._words


@final
class SentenceLimits(LengthLimits):
    """Limits on the sentences of a summary."""

    def count(self) -> int:
        """Return the number of complete sentences."""
        return self._sentences + self.ends_sentence()
