"""Constraints on the next token during decoding.

A constraint is an immutable value attached to a hypothesis, which beams may share: `after` returns the constraint of
the hypothesis extended by a token, `forbidden` the tokens that may not come next.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self, final

from sumpool.core.decoding.config import LengthTarget
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, SpecialTokens

_SENTENCE_END = re.compile(rb"(?:[.!?]|\xe3\x80\x82)(?:[\"')\]]|\xe2\x80[\x99\x9d])*$")
_ABBREVIATION = re.compile(
    rb"(?:(?:^|[^a-z])[a-z]|\b(?:al|approx|cf|dr|ed|eds|etc|fig|inc|mr|ms|no|nos|sec|st|vol|vs))\.$", re.I
)


class Constraint(Protocol):
    """Tokens that may not follow a hypothesis."""

    def after(self, token: int) -> Self:
        """Return the constraint of the hypothesis extended by this token."""

    def forbidden(self) -> Collection[int]:
        """Return the tokens that may not come next, each at most once."""


@dataclass(frozen=True)
class Rules:
    """Rules of every summary of a search.

    Attributes:
        prefix: Tokens that every summary begins with, whatever their probability. They are input of the model and of
            the constraints, count as tokens of the summary, and add nothing to its log-probability.
        constraints: Constraints of an empty summary.
        special_tokens: Ids of the decoder's first input, of the end of a summary and of suppressed tokens.
    """

    prefix: Sequence[int] = ()
    constraints: Sequence[Constraint] = ()
    special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS


NO_RULES = Rules()
"""No prefix and no constraints, with the special tokens of learnt vocabularies."""


def after_all(constraints: Sequence[Constraint], tokens: Sequence[int]) -> tuple[Constraint, ...]:
    """Return the constraints after these tokens."""
    for token in tokens:
        constraints = [constraint.after(token) for constraint in constraints]
    return tuple(constraints)


@final
class TokenSurfaces:
    """Surface forms of a vocabulary's tokens as parts of words, in UTF-8; words are separated by white space.

    Attributes:
        starts: By token, whether it begins with white space and therefore ends the word before it.
        beginning: Tokens that begin with white space.
        parts: By token, its part of a word; empty for white space and special tokens.
        starting: By part, the tokens that begin a word with it.
        continuing: By part, the tokens that continue a word with it.
    """

    def __init__(self, surfaces: Sequence[bytes]) -> None:
        """Analyse the vocabulary.

        Args:
            surfaces: Text of every token, in UTF-8; tokens may be parts of characters.

        Raises:
            ValueError: If a token has white space after a word.
        """
        self.starts: list[bool] = []
        self.parts: list[bytes] = []
        self.starting: dict[bytes, list[int]] = {}
        self.continuing: dict[bytes, list[int]] = {}
        for token, surface in enumerate(surfaces):
            part = _part(surface)
            self.starts.append(part != surface)
            self.parts.append(part)
            if part:
                table = self.starting if part != surface else self.continuing
                table.setdefault(part, []).append(token)
        self.beginning = tuple(token for token, starts in enumerate(self.starts) if starts)


@final
@dataclass(frozen=True)
class NoRepeatWords:
    """No n-gram of words occurs twice in a summary.

    Words are compared by their text, whatever their tokens. A token is forbidden if the words of the hypothesis with it
    would end in an n-gram that occurs already. This includes a last word that could still be continued: if "the net"
    could be repeated as the beginning of "the network", a search that does not continue it would have to misspell it.
    The end of a summary therefore needs no rule.

    Attributes:
        length: Words of an n-gram, at least 1.
        surfaces: Surface forms of the vocabulary.
    """

    length: int
    surfaces: TokenSurfaces
    _context: tuple[bytes, ...] = ()
    """The last `length` - 1 words before the current one, fewer at the beginning."""
    _word: bytes = b""
    """The current word, empty after white space."""
    _followers: Mapping[tuple[bytes, ...], tuple[bytes, ...]] = field(default_factory=dict)
    """Words that have followed each (`length` - 1)-gram, without the current word."""

    def after(self, token: int) -> "NoRepeatWords":
        """Return the constraint of the hypothesis extended by this token."""
        part = self.surfaces.parts[token]
        if not self.surfaces.starts[token]:
            return replace(self, _word=self._word + part) if part else self
        if not self._word:
            return replace(self, _word=part) if part else self
        followers = self._followers
        if len(self._context) == self.length - 1:
            followers = {**followers, self._context: (*followers.get(self._context, ()), self._word)}
        return NoRepeatWords(self.length, self.surfaces, self._next_context(), part, followers)

    def forbidden(self) -> list[int]:
        """Return the tokens that would complete a word that has followed the same words before."""
        tokens: list[int] = []
        for follower in self._followers.get(self._context, ()):
            if len(follower) > len(self._word) and follower.startswith(self._word):
                tokens += self.surfaces.continuing.get(follower[len(self._word) :], ())
        context = self._next_context() if self._word else self._context
        following = self._followers.get(context, ())
        if self._word and context == self._context and len(context) == self.length - 1:
            following = (*following, self._word)  # equal words: the current one is the first follower
        for follower in dict.fromkeys(following):
            tokens += self.surfaces.starting.get(follower, ())
        return tokens

    def _next_context(self) -> tuple[bytes, ...]:
        return (*self._context, self._word)[-(self.length - 1) :] if self.length > 1 else ()


@final
@dataclass(frozen=True)
class NoRepeatTokens:
    """No n-gram of tokens occurs twice in a summary: `no_repeat_ngram_size` of transformers.

    The decoder's start token belongs to no n-gram. In transformers it does: with models that start with EOS a `length`
    of 1 forbids EOS; greater lengths are equivalent.

    Attributes:
        length: Tokens of an n-gram, at least 1.
    """

    length: int
    _context: tuple[int, ...] = ()
    """The last `length` - 1 tokens, fewer at the beginning."""
    _followers: Mapping[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)
    """Tokens that have followed each (`length` - 1)-gram."""

    def after(self, token: int) -> "NoRepeatTokens":
        """Return the constraint of the hypothesis extended by this token."""
        context = (*self._context, token)[-(self.length - 1) :] if self.length > 1 else ()
        if len(self._context) < self.length - 1 or token in self.forbidden():
            return replace(self, _context=context)
        followers = {**self._followers, self._context: (*self.forbidden(), token)}
        return NoRepeatTokens(self.length, context, followers)

    def forbidden(self) -> tuple[int, ...]:
        """Return the tokens that have followed the same tokens before."""
        return self._followers.get(self._context, ())


def _part(surface: bytes) -> bytes:
    """Strip white space before a word, and all of a token that is only white space, including Unicode spaces."""
    part = surface.lstrip()
    if part.split() in ([], [part]):
        return part
    if surface.decode(errors="ignore").isspace():
        return b""
    raise ValueError(f"surfaces must hold white space before a word only, got {surface!r}")


def can_apply_on_device(rules: Rules, limits: Sequence[Sequence[Constraint]] = ()) -> bool:
    """Return whether constraints have a form on tensors: repeated n-grams of words and of tokens."""
    return not any(limits) and all(isinstance(one, NoRepeatTokens | NoRepeatWords) for one in rules.constraints)


@final
@dataclass(frozen=True)
class LengthLimits:
    """A summary has at least `minimum` and at most `maximum` words or sentences, and ends with a sentence.

    Words are separated by white space. A sentence ends with a full stop, an exclamation mark or a question mark, maybe
    followed by closing quotes and brackets, before a word that begins with neither a lower-case letter nor a digit.
    Single letters and some abbreviations end no sentence.

    Between the limits, a summary may end after a sentence. At the upper limit no further word begins, and the summary
    may end anywhere.

    Attributes:
        minimum: Least words or sentences.
        maximum: Most words or sentences, at least 1.
        surfaces: Surface forms of the vocabulary.
        eos: Id of the token that ends a summary.
        in_sentences: Whether sentences are counted instead of words.
    """

    minimum: int
    maximum: int
    surfaces: TokenSurfaces
    eos: int
    in_sentences: bool = False
    _words: int = 0
    _sentences: int = 0
    """Sentences that another word has followed."""
    _word: bytes = b""
    """The current word, empty after white space."""
    _last: bytes = b""
    """The current word, or before white space the last one."""

    def after(self, token: int) -> Self:
        """Return the constraint of the hypothesis extended by this token."""
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

    def count(self) -> int:
        """Return the number of words, the current one included, or of complete sentences."""
        return self._sentences + self.ends_sentence() if self.in_sentences else self._words

    def ends_sentence(self) -> bool:
        """Return whether the last word ends a sentence."""
        return _SENTENCE_END.search(self._last) is not None and not _ABBREVIATION.search(self._last)


def length_limits(target: LengthTarget, surfaces: TokenSurfaces, eos: int) -> LengthLimits:
    """Return the constraint of an empty summary that is to have a length."""
    return LengthLimits(target.minimum, target.maximum, surfaces, eos, target.in_sentences)
