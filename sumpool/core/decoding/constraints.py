"""Rules that summaries obey while they are written.

A constraint is a value that travels with a hypothesis: `after` gives the constraint of the longer hypothesis, and
`forbidden` names the pieces that may not come next. Values never change, so that beams share them freely.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self, final

from torch import Tensor

from sumpool.core.decoding.ranking import Lengths
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, SpecialTokens


class Constraint(Protocol):
    """What a hypothesis may not write next."""

    def after(self, piece: int) -> Self:
        """The constraint once the hypothesis has written this piece."""

    def forbidden(self) -> Collection[int]:
        """Pieces that may not come next, each at most once."""


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
"""Any summary, in the special tokens of learnt vocabularies."""


def after_all(constraints: Sequence[Constraint], pieces: Sequence[int]) -> tuple[Constraint, ...]:
    """Give the constraints once these pieces are written."""
    for piece in pieces:
        constraints = [constraint.after(piece) for constraint in constraints]
    return tuple(constraints)


def forbid(
    log_probs: Tensor,
    written: int,
    lengths: Sequence[Lengths],
    constraints: Sequence[Sequence[Sequence[Constraint]]],
    special_tokens: SpecialTokens,
) -> None:
    """Set to -inf what may not come next.

    Args:
        log_probs: (documents * rows, vocab), overwritten.
        written: Pieces that every hypothesis has.
        lengths: Shortest and longest summary of each document.
        constraints: Of each document, of each of its first rows.
        special_tokens: Ids of the end of a summary and of suppressed tokens.
    """
    eos = special_tokens.eos
    log_probs[:, list(special_tokens.suppressed)] = -math.inf
    by_document = log_probs.view(len(lengths), -1, log_probs.size(-1))
    too_short = [place for place, bounds in enumerate(lengths) if written < bounds.minimum]
    if too_short:
        by_document[too_short, :, eos] = -math.inf
    full = [place for place, bounds in enumerate(lengths) if written >= bounds.maximum]
    if full:
        by_document[full, :, :eos] = -math.inf
        by_document[full, :, eos + 1 :] = -math.inf
    rows: list[int] = []
    pieces: list[int] = []
    for place, document in enumerate(constraints):
        for row, hypothesis in enumerate(document):
            for constraint in hypothesis:
                forbidden = constraint.forbidden()
                rows.extend([place * by_document.size(1) + row] * len(forbidden))
                pieces.extend(forbidden)
    if rows:
        log_probs[rows, pieces] = -math.inf


@final
class WordPieces:
    """The pieces of a vocabulary as parts of words, in UTF-8; words are what stands between white space.

    Attributes:
        starts: By piece, whether it stands behind white space and so ends the word before it.
        parts: By piece, what it adds to a word; empty for white space and for pieces that spell nothing.
        starting: By surface, the pieces that write it as the beginning of a word.
        continuing: By surface, the pieces that write it right behind what stands there.
    """

    def __init__(self, surfaces: Sequence[bytes]) -> None:
        """Read the vocabulary.

        Args:
            surfaces: What every piece spells, in UTF-8; a piece need not hold whole characters.

        Raises:
            ValueError: If a piece holds white space behind a word.
        """
        self.starts: list[bool] = []
        self.parts: list[bytes] = []
        self.starting: dict[bytes, list[int]] = {}
        self.continuing: dict[bytes, list[int]] = {}
        for number, surface in enumerate(surfaces):
            part = _part(surface)
            self.starts.append(part != surface)
            self.parts.append(part)
            if part:
                table = self.starting if part != surface else self.continuing
                table.setdefault(part, []).append(number)


@final
@dataclass(frozen=True)
class NoRepeatWords:
    """No run of `length` words occurs twice in a summary.

    Words are compared by what they spell, whichever pieces spell them. A piece is forbidden exactly if, with it, the
    words written so far would end in a run that stands there already. That holds for a last word that could still
    grow: a search that may write "the net" again only to go on with "work" would have to misspell "net" where it does
    not want to go on. The end of a summary therefore needs no rule.

    Attributes:
        length: Words of the run, at least 1.
        pieces: The vocabulary.
    """

    length: int
    pieces: WordPieces
    _context: tuple[bytes, ...] = ()
    """The last `length` - 1 words before the current one, fewer at the beginning."""
    _word: bytes = b""
    """The word being spelt, empty behind white space."""
    _followers: Mapping[tuple[bytes, ...], tuple[bytes, ...]] = field(default_factory=dict)
    """What has followed each run of `length` - 1 words, the current word not counted."""

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ValueError(f"length must be at least 1, got {self.length}")

    def after(self, piece: int) -> "NoRepeatWords":
        """The constraint once this piece is written."""
        part = self.pieces.parts[piece]
        if not self.pieces.starts[piece]:
            return replace(self, _word=self._word + part) if part else self
        if not self._word:
            return replace(self, _word=part) if part else self
        followers = self._followers
        if len(self._context) == self.length - 1:
            followers = {**followers, self._context: (*followers.get(self._context, ()), self._word)}
        return NoRepeatWords(self.length, self.pieces, self._next_context(), part, followers)

    def forbidden(self) -> list[int]:
        """Pieces that would spell a word which has followed the same words before."""
        found: list[int] = []
        for follower in self._followers.get(self._context, ()):
            if len(follower) > len(self._word) and follower.startswith(self._word):
                found += self.pieces.continuing.get(follower[len(self._word) :], ())
        context = self._next_context() if self._word else self._context
        following = self._followers.get(context, ())
        if self._word and context == self._context and len(context) == self.length - 1:
            following = (*following, self._word)  # a run of equal words: the current one is the first follower
        for follower in dict.fromkeys(following):
            found += self.pieces.starting.get(follower, ())
        return found

    def _next_context(self) -> tuple[bytes, ...]:
        return (*self._context, self._word)[-(self.length - 1) :] if self.length > 1 else ()


@final
@dataclass(frozen=True)
class NoRepeatTokens:
    """No run of `length` pieces occurs twice in a summary: `no_repeat_ngram_size` of transformers.

    The piece that decoders begin with stands in no run. Where another model begins with its end, a `length` of 1 would
    there forbid the end for ever; every greater length is the same rule.

    Attributes:
        length: Pieces of the run, at least 1.
    """

    length: int
    _context: tuple[int, ...] = ()
    """The last `length` - 1 pieces, fewer at the beginning."""
    _followers: Mapping[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)
    """What has followed each run of `length` - 1 pieces."""

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ValueError(f"length must be at least 1, got {self.length}")

    def after(self, piece: int) -> "NoRepeatTokens":
        """The constraint once this piece is written."""
        context = (*self._context, piece)[-(self.length - 1) :] if self.length > 1 else ()
        if len(self._context) < self.length - 1 or piece in self.forbidden():
            return replace(self, _context=context)
        followers = {**self._followers, self._context: (*self.forbidden(), piece)}
        return NoRepeatTokens(self.length, context, followers)

    def forbidden(self) -> tuple[int, ...]:
        """Pieces that have followed the same pieces before."""
        return self._followers.get(self._context, ())


def _part(surface: bytes) -> bytes:
    """Take the white space before a word away, and that of a piece which is nothing else, whichever spaces it holds."""
    part = surface.lstrip()
    if part.split() in ([], [part]):
        return part
    if surface.decode(errors="ignore").isspace():
        return b""
    raise ValueError(f"surfaces must hold white space before a word only, got {surface!r}")
