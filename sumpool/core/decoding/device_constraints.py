"""Constraints on the next token of many hypotheses at once, as tensors: repeated n-grams of tokens and of words.

They forbid what `NoRepeatTokens` and `NoRepeatWords` forbid, without a wait of the host for the device.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol, final

import torch
from torch import Tensor

from sumpool.core.decoding.constraints import TokenSurfaces
from sumpool.core.nn.numerics import to_device

_MASK = (1 << 64) - 1
_BASE = 0x9E3779B97F4A7C15
"""Base of the polynomial hash of a word, odd."""


class RowConstraint(Protocol):
    """Tokens that may not follow the hypotheses in the rows of a batch; its tensors have fixed shapes."""

    def append(self, rows: Tensor, tokens: Tensor, length: Tensor) -> None:
        """Continue previous rows (rows,) of `length` tokens () by tokens (rows,)."""

    def select(self, rows: Tensor) -> None:
        """Continue with these rows only, (fewer,) indices."""

    def forbidden(self, vocab: int, length: Tensor) -> Tensor:
        """Return which of the tokens may not come next, (rows, vocab), after `length` tokens ()."""


@final
class RepeatedTokens:
    """No n-gram of tokens occurs twice; see `NoRepeatTokens`."""

    def __init__(self, length: int, rows: int, room: int, like: Tensor) -> None:
        """Begin with empty hypotheses.

        Args:
            length: Tokens of an n-gram, at least 1.
            rows: Number of hypotheses.
            room: Most tokens of a hypothesis.
            like: Integers on the device.
        """
        self._context = length - 1
        self._tokens = like.new_zeros(rows, room)

    def append(self, rows: Tensor, tokens: Tensor, length: Tensor) -> None:
        """See `RowConstraint.append`."""
        self._tokens = self._tokens.index_select(0, rows).index_copy_(1, length.view(1), tokens[:, None])

    def select(self, rows: Tensor) -> None:
        """See `RowConstraint.select`."""
        self._tokens = self._tokens.index_select(0, rows)

    def forbidden(self, vocab: int, length: Tensor) -> Tensor:
        """See `RowConstraint.forbidden`."""
        follows = _follow(self._tokens, length.expand(len(self._tokens)), self._context)
        return _marked(self._tokens[:, self._context :], follows, vocab)


@final
class RepeatedWords:
    """No n-gram of words occurs twice; see `NoRepeatWords`.

    A word is compared by the 64-bit polynomial hash of its bytes, which is computed token by token, and its length.
    """

    def __init__(self, length: int, surfaces: TokenSurfaces, rows: int, room: int, like: Tensor) -> None:
        """Begin with empty hypotheses.

        Args:
            length: Words of an n-gram, at least 1.
            surfaces: Surface forms of the vocabulary.
            rows: Number of hypotheses.
            room: Most tokens of a hypothesis.
            like: Integers on the device.
        """
        self._context = length - 1
        tables = _tables(surfaces)
        self._parts = to_device(tables.parts, like)
        self._powers = to_device(tables.powers, like)
        self._continuing = tables.continuing.to(like)
        self._starting = tables.starting.to(like)
        self._words = like.new_zeros(2, rows, room + 1)
        """Hashes and lengths of the complete words, then of the current one, which is empty after white space."""
        self._complete = like.new_zeros(rows)

    def append(self, rows: Tensor, tokens: Tensor, length: Tensor) -> None:
        """See `RowConstraint.append`."""
        del length
        self.select(rows)
        starts, part, part_length = self._parts.index_select(1, tokens)
        current, current_length = self._current()
        starts = starts.bool()
        place = self._complete + (starts & (current_length > 0))
        word = torch.where(starts, 0, current) * self._powers.index_select(0, part_length) + part
        word_length = torch.where(starts, 0, current_length) + part_length
        self._words.scatter_(2, place.expand(2, -1)[..., None], torch.stack([word, word_length])[..., None])
        self._complete = place

    def select(self, rows: Tensor) -> None:
        """See `RowConstraint.select`."""
        self._words, self._complete = self._words.index_select(1, rows), self._complete.index_select(0, rows)

    def forbidden(self, vocab: int, length: Tensor) -> Tensor:
        """See `RowConstraint.forbidden`."""
        del length
        current, current_length = self._current()
        words, lengths = self._words[..., self._context :]
        # Tokens that continue the current word to one that has followed the words before it
        rest = lengths - current_length[:, None]
        power = self._powers[rest.clamp(0, len(self._powers) - 1)]
        follows = _follow(self._words[0], self._complete, self._context) & (rest > 0)
        forbidden = self._continuing.tokens(words - current[:, None] * power, rest, follows, vocab)
        # Tokens that begin a word that has followed the words before it, the current one included
        follows = _follow(self._words[0], self._complete + (current_length > 0), self._context)
        return forbidden | self._starting.tokens(words, lengths, follows, vocab)

    def _current(self) -> Tensor:
        """Return hash and length of the current word of each row, (2, rows)."""
        return self._words.gather(2, self._complete.expand(2, -1)[..., None])[..., 0]


def _follow(values: Tensor, end: Tensor, context: int) -> Tensor:
    """Return where in a sequence the values follow that its last ones have been followed by before.

    Args:
        values: Sequences, (rows, width).
        end: Length of each, (rows,).
        context: Number of the last values.

    Returns:
        For each position from `context` on, whether the `context` values before it equal the last ones,
        (rows, width - context).
    """
    positions = torch.arange(values.size(1), device=values.device)[context:]
    follows = (positions < end[:, None]) & (end >= context)[:, None]
    if context and len(positions):
        recent = (end[:, None] - torch.arange(context, 0, -1, device=values.device)).clamp(min=0)
        last = values.gather(1, recent)
        follows &= (values.unfold(1, context, 1)[:, : len(positions)] == last[:, None]).all(2)
    return follows


def _marked(indices: Tensor, is_marked: Tensor, size: int) -> Tensor:
    """Return a mask (rows, size) that is True at the indices (rows, count) that are marked; these may repeat."""
    marks = torch.zeros(len(indices), size, dtype=torch.int8, device=indices.device)
    return marks.scatter_reduce_(1, indices, is_marked.to(torch.int8), "amax").bool()


@final
class _Dictionary(NamedTuple):
    """Parts of words by hash, and the tokens of each.

    Attributes:
        hashes: Ascending, (parts,).
        lengths: Bytes of each part, (parts,).
        part_of: By token, the index of its part; the number of parts if it has none.
    """

    hashes: Tensor
    lengths: Tensor
    part_of: Tensor

    def to(self, like: Tensor) -> "_Dictionary":
        """Copy to the device of a tensor."""
        return _Dictionary(*(to_device(column, like) for column in self))

    def tokens(self, hashes: Tensor, lengths: Tensor, is_wanted: Tensor, vocab: int) -> Tensor:
        """Return the tokens (rows, vocab) whose part has one of the wanted hashes (rows, count) and its length."""
        none = len(self.hashes)
        part = torch.searchsorted(self.hashes, hashes.contiguous()).clamp(max=none - 1)
        is_part = is_wanted & (self.hashes[part] == hashes) & (self.lengths[part] == lengths)
        marks = _marked(torch.where(is_part, part, none), is_part, none + 1)
        marked = marks.index_select(1, self.part_of[:vocab])
        return torch.nn.functional.pad(marked, (0, vocab - marked.size(1)))


class _Tables(NamedTuple):
    """Tables of a vocabulary on the host.

    Attributes:
        parts: By token, whether it begins with white space, and hash and length of its part of a word.
        powers: Powers of the base of the hash, up to the longest part.
        continuing: Parts that continue a word.
        starting: Parts that begin one.
    """

    parts: Sequence[Sequence[int]]
    powers: Sequence[int]
    continuing: _Dictionary
    starting: _Dictionary


@lru_cache(maxsize=2)
def _tables(surfaces: TokenSurfaces) -> _Tables:
    """Hash the parts of a vocabulary."""
    lengths = [len(part) for part in surfaces.parts]
    powers = [pow(_BASE, length, _MASK + 1) for length in range(max(lengths, default=0) + 1)]
    hashes = list(map(_hash, surfaces.parts))
    dictionaries = (_dictionary(table, len(hashes)) for table in (surfaces.continuing, surfaces.starting))
    return _Tables([list(map(int, surfaces.starts)), hashes, lengths], list(map(_signed, powers)), *dictionaries)


def _dictionary(table: Mapping[bytes, Sequence[int]], tokens: int) -> _Dictionary:
    entries = sorted((_hash(part), len(part), ids) for part, ids in table.items())
    part_of = torch.full((tokens,), len(entries))
    for index, (_, _, ids) in enumerate(entries):
        part_of[list(ids)] = index
    # A dictionary without parts has one that no word equals.
    columns = [(entry[0], entry[1]) for entry in entries] or [(0, -1)]
    return _Dictionary(torch.tensor([one[0] for one in columns]), torch.tensor([one[1] for one in columns]), part_of)


def _hash(part: bytes) -> int:
    """Return the polynomial hash of bytes modulo 2^64, as a signed integer."""
    value = 0
    for byte in part:
        value = (value * _BASE + _mixed(byte)) & _MASK
    return _signed(value)


def _mixed(byte: int) -> int:
    """Return 64 bits that depend on a byte (the finaliser of SplitMix64)."""
    value = ((byte + 1) * 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
