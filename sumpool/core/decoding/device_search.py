"""Beam search and sampling with tensors of fixed shapes, for which the host waits every `STEPS_BETWEEN_CHECKS` tokens.

Hypotheses and samples are, bit by bit, those that `sumpool.core.decoding.beam` finds on the host: log-probabilities are
summed in single precision and scored in double precision, and of equal candidates the one with the lower beam, then the
lower token id, comes first. Documents that have finished are computed along until the next check, and their results
stay as they are. Constraints forbid what `NoRepeatTokens` and `NoRepeatWords` forbid.
"""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, final

import torch
from torch import Tensor

from sumpool.core.decoding.beam import (
    NAN,
    StateT,
    Step,
    documents_to_keep,
    draw_tokens,
)
from sumpool.core.decoding.config import Hypothesis, Lengths, Ranking
from sumpool.core.decoding.constraints import NoRepeatTokens, NoRepeatWords, Rules, TokenSurfaces
from sumpool.core.model.kv_cache import rows_of
from sumpool.core.nn.numerics import to_device

STEPS_BETWEEN_CHECKS = 16
"""Steps after which the host looks which documents have finished."""
_MASK = (1 << 64) - 1
_BASE = 0x9E3779B97F4A7C15
"""Base of the polynomial hash of a word, odd."""

_LOW_BITS = 32
_LAST_INDEX = (1 << _LOW_BITS) - 1


@final
class DeviceBeams:
    """Hypotheses of a batch of documents, all of the same length; their tensors have fixed shapes.

    The rows of hypotheses that can be extended are those of the search, (documents * beams, ...). Hypotheses that have
    ended, (documents, beams), are integers side by side, so that one kernel moves them: their tokens, their number, the
    bits of log-probability and score, and whether there is one.
    """

    def __init__(self, lengths: Sequence[Lengths], ranking: Ranking, rules: Rules, like: Tensor) -> None:
        """Begin with one hypothesis for each document, the prefix.

        Args:
            lengths: Length bounds of each document.
            ranking: Number of beams, scores and stopping criterion.
            rules: Prefix, constraints and special tokens.
            like: Integers on the device.
        """
        documents, beams = len(lengths), ranking.beams
        self._ranking = ranking
        self._special_tokens = rules.special_tokens
        self.rules = DeviceRules(lengths, rules, beams, like)
        room = self.rules.room
        expected = [bounds.maximum if bounds.expected is None else bounds.expected for bounds in lengths]
        self._expected = to_device(expected, like, torch.long)
        divisors = [1.0, *map(ranking.divisor, range(1, max([room, *expected]) + 2))]
        self._divisors = to_device(divisors, like, torch.double)
        self._sums = torch.full((documents, beams), -math.inf, device=like.device)
        self._sums[:, 0] = 0.0
        self._ended = like.new_zeros(documents, beams, room + 4)
        self._finished = torch.zeros(documents, dtype=torch.bool, device=like.device)
        self._nan_after = like.new_full((documents,), -1)

    def advance(self, log_probs: Tensor, state: StateT) -> tuple[Tensor, StateT]:
        """Extend the hypotheses of every document by a token.

        Args:
            log_probs: Of the next token, (documents * beams, vocab); overwritten.
            state: State of the model.

        Returns:
            Last token of each row, (documents * beams,), and the state of these rows.
        """
        log_probs = log_probs.float()
        documents, beams = self._sums.shape
        vocab, eos = log_probs.size(1), self._special_tokens.eos
        log_probs_at_once = self._sums[:, 0].double() + log_probs[::beams, eos].double()
        self.rules.forbid(log_probs, forced_end_is_free=self._ranking.forced_end_is_free)
        totals = log_probs.view(documents, beams, vocab).add_(self._sums[..., None]).flatten(1)
        is_first_nan = totals.isnan().any(1) & ~self._finished & (self._nan_after < 0)
        self._nan_after = torch.where(is_first_nan, self.rules.length, self._nan_after)
        # EOS is at most one candidate per beam: `beams` others are always among twice as many candidates.
        scores, indices = _top(totals, min(2 * beams if beams > 1 else 1, beams * vocab))
        beam, token = indices // vocab, indices % vocab
        exists = scores > -math.inf
        is_end = token == eos
        if not self._ranking.force_end:
            is_end |= (self.rules.maxima == self.rules.length + 1)[:, None]
        continues = exists & ~is_end
        # Candidates that go on, best first; beams without one repeat the first.
        order = (~continues).to(torch.uint8).argsort(dim=1, stable=True)[:, :beams]
        is_live = continues.gather(1, order)
        self._end(beam[:, :beams], token[:, :beams], scores[:, :beams], (exists & is_end)[:, :beams])
        self._end_at_once(log_probs_at_once, ~is_live[:, 0])
        order = torch.where(is_live, order, order[:, :1])
        self._sums = scores.gather(1, order).masked_fill(~is_live, -math.inf)
        first_rows = beams * torch.arange(documents, device=beam.device)[:, None]
        rows = (beam.gather(1, order) + first_rows).flatten()
        tokens = token.gather(1, order).masked_fill(~is_live[:, :1], eos).flatten()
        self.rules.append(rows, tokens)
        self._finish(~is_live[:, 0])
        return tokens, state.reorder(rows)

    def check(self) -> list[bool]:
        """Return which documents have finished, for which the host waits.

        Raises:
            ValueError: If log-probabilities were NaN.
        """
        finished, nan_after = torch.stack([self._finished.long(), self._nan_after]).tolist()
        if any(length >= 0 for length in nan_after):
            tokens = min(length for length in nan_after if length >= 0)
            raise ValueError(f"step must return log-probabilities, got NaN after {tokens} tokens")
        return list(map(bool, finished))

    def results(self, documents: Sequence[int]) -> list[list[Hypothesis]]:
        """Copy the hypotheses of documents that have ended, best first."""
        ended = self._ended.index_select(0, to_device(documents, self._expected, torch.long)).cpu()
        log_probs, scores = ended[..., -3:-1].contiguous().view(torch.double).unbind(-1)
        return [
            [
                Hypothesis(tuple(row[: row[-4]]), score, log_prob)
                for row, score, log_prob in zip(*document, strict=True)
                if row[-1]
            ]
            for document in zip(ended.tolist(), scores.tolist(), log_probs.tolist(), strict=True)
        ]

    def select(self, documents: Tensor) -> None:
        """Continue with these documents only, (fewer,) indices."""
        for name in ("_expected", "_sums", "_ended", "_finished", "_nan_after"):
            setattr(self, name, getattr(self, name).index_select(0, documents))
        self.rules.select(documents)

    def _end(self, beam: Tensor, token: Tensor, log_probs: Tensor, is_end: Tensor) -> None:
        """End hypotheses with those of the best candidates (documents, beams) that end them."""
        documents, beams = beam.shape
        tokens = self.rules.tokens.view(documents, beams, -1)
        tokens = tokens.gather(1, beam[..., None].expand_as(tokens)).index_copy_(
            2, self.rules.length.view(1), token[..., None]
        )
        lengths = self.rules.length + (token != self._special_tokens.eos)
        both = torch.cat([self._ended, self._packed(tokens, lengths, log_probs.double(), is_end)], dim=1)
        # Of equal scores the earlier one comes first.
        order = both[..., -2].view(torch.double).masked_fill(both[..., -1] == 0, -math.inf)
        order = order.argsort(dim=1, descending=True, stable=True)[:, :beams]
        best = both.gather(1, order[..., None].expand_as(self._ended))
        self._ended = torch.where(self._finished[:, None, None], self._ended, best)

    def _end_at_once(self, log_probs: Tensor, has_none: Tensor) -> None:
        """End the best hypothesis where all tokens are forbidden and nothing has ended before.

        Args:
            log_probs: Of its end, (documents,).
            has_none: Whether no hypothesis goes on, (documents,).
        """
        beams = self._sums.size(1)
        exists = torch.zeros_like(self._ended[..., -1])
        exists[:, 0] = 1
        tokens = self.rules.tokens.view(*self._sums.shape, -1)
        lengths = self.rules.length.expand_as(exists)
        ended = self._packed(tokens, lengths, log_probs[:, None].expand(-1, beams), exists)
        is_needed = has_none & (self._ended[:, 0, -1] == 0) & ~self._finished
        self._ended = torch.where(is_needed[:, None, None], ended, self._ended)

    def _packed(self, tokens: Tensor, lengths: Tensor, log_probs: Tensor, exists: Tensor) -> Tensor:
        """Return hypotheses that end with the next token as integers side by side."""
        scores = log_probs / self._divisors.index_select(0, self.rules.length.view(1) + 1)
        bits = torch.stack([log_probs, scores], dim=-1).view(torch.long)
        return torch.cat([tokens, lengths[..., None], bits, exists[..., None]], dim=-1)

    def _finish(self, has_none: Tensor) -> None:
        """Finish the documents for which no better hypothesis can follow."""
        ranking, scores = self._ranking, self._ended[..., -2].view(torch.double)
        finished = has_none | self._finished
        if ranking.beams == 1:
            finished |= self._ended[:, 0, -1] == 1
        is_enough = self._ended[:, -1, -1] == 1
        if not ranking.early_stopping:
            assumed = self.rules.length.expand_as(self._expected)
            if ranking.length_formula != "transformers":
                assumed = torch.maximum(self._expected, assumed) + 1
            is_enough &= self._sums[:, 0].double() / self._divisors.index_select(0, assumed) <= scores[:, -1]
        self._finished = finished | is_enough


@final
class DeviceSamples:
    """Samples of a batch of documents, those of a document side by side, (documents * samples, ...)."""

    def __init__(
        self, lengths: Sequence[Lengths], draws: Tensor, temperature: float, rules: Rules, like: Tensor
    ) -> None:
        """Begin with the prefix; arguments as in `DeviceBeams`, and those of `sample`."""
        samples = draws.size(1)
        self._samples, self._draws, self._temperature = samples, draws, temperature
        self._eos = rules.special_tokens.eos
        self.rules = DeviceRules(lengths, rules, samples, like)
        self._length = len(rules.prefix)
        self._counts = torch.full_like(like, self._length)
        self._ended = torch.zeros_like(like, dtype=torch.bool)
        self._has_nan = torch.zeros((), dtype=torch.bool, device=like.device)

    def advance(self, log_probs: Tensor, state: StateT) -> tuple[Tensor, StateT]:
        """Draw the next token of every sample; arguments and results as of `DeviceBeams.advance`."""
        self.rules.forbid(log_probs)
        draws = self._draws[..., self._length].flatten()
        tokens = draw_tokens(log_probs, draws, self._temperature, self._eos)
        self._has_nan = self._has_nan | ((tokens == NAN) & ~self._ended).any()
        self._ended = self._ended | (tokens == self._eos)
        tokens = tokens.masked_fill(self._ended | (tokens == NAN), self._eos)
        self._counts = self._counts + (~self._ended).to(self._counts.dtype)
        self._length += 1
        self.rules.append(torch.arange(len(tokens), device=tokens.device), tokens)
        return tokens, state

    def check(self) -> list[bool]:
        """Return of which documents all samples have ended, for which the host waits.

        Raises:
            ValueError: If log-probabilities were NaN.
        """
        has_nan, *finished = torch.cat([self._has_nan[None], self._ended.view(-1, self._samples).all(1)]).tolist()
        if has_nan:
            raise ValueError("step must return log-probabilities, got NaN")
        return finished

    def results(self, documents: Sequence[int]) -> list[list[tuple[int, ...]]]:
        """Copy the samples of documents, without EOS."""
        rows = torch.cat([self.rules.tokens, self._counts[:, None]], dim=1).unflatten(0, (-1, self._samples))
        copied = rows.index_select(0, to_device(documents, rows, torch.long)).tolist()
        return [[tuple(tokens[:count]) for *tokens, count in document] for document in copied]

    def select(self, documents: Tensor) -> None:
        """Continue with these documents only, (fewer,) indices."""
        rows = self.rules.select(documents)
        self._counts, self._ended = self._counts.index_select(0, rows), self._ended.index_select(0, rows)
        self._draws = self._draws.index_select(0, documents)


def run_on_device(step: Step[StateT], last: Tensor, state: StateT, group: DeviceBeams | DeviceSamples) -> list[Any]:
    """Take steps until all documents have finished; return what the group has of each.

    Args:
        step: Computes log-probabilities of the next token.
        last: Last token of each row.
        state: State after the tokens before it.
        group: Hypotheses or samples of all documents.
    """
    active = list(range(len(group.rules.minima)))
    results: list[Any] = [None] * len(active)
    most = group.rules.steps
    for taken in range(1, most + 1) if active else ():
        log_probs, state = step(last, state)
        last, state = group.advance(log_probs, state)
        if taken < most and taken % STEPS_BETWEEN_CHECKS:
            continue
        keep = documents_to_keep([not is_finished for is_finished in group.check()], last.device)
        leaving = sorted(set(range(len(active))) - set(keep))
        for index, result in zip(leaving, group.results(leaving), strict=True):
            results[active[index]] = result
        if not keep:
            break
        if len(keep) < len(active):
            kept = to_device(keep, last)
            last = last.view(len(active), -1).index_select(0, kept).flatten()
            state = state.select(kept)
            group.select(kept)
            active = [active[index] for index in keep]
    return results


@final
class DeviceRules:
    """Tokens, length bounds and constraints of the hypotheses of a batch, all of which have the same length.

    Attributes:
        tokens: (documents * rows, room), those of the hypotheses.
        minima: Minimum length of each document, (documents,).
        maxima: Maximum length of each document, (documents,).
        length: Tokens of every hypothesis, ().
        room: Most tokens of a hypothesis, EOS included.
        steps: Most tokens of a hypothesis after the prefix.
    """

    def __init__(self, lengths: Sequence[Lengths], rules: Rules, rows: int, like: Tensor) -> None:
        """Begin with the prefix.

        Args:
            lengths: Length bounds of each document.
            rules: Prefix, constraints and special tokens.
            rows: Hypotheses of a document.
            like: Integers on the device.
        """
        room = self.room = max([len(rules.prefix), *(bounds.maximum for bounds in lengths)]) + 1
        self.steps = room - len(rules.prefix)
        bounds = [[bound.minimum for bound in lengths], [bound.maximum for bound in lengths]]
        self.minima, self.maxima = to_device(bounds, like, torch.long)
        self.length = like.new_zeros(())
        self._rows = rows
        self._eos = rules.special_tokens.eos
        self._suppressed = to_device(rules.special_tokens.suppressed, like, torch.long)
        self.tokens = like.new_zeros(len(like), room)
        self._no_repeat_tokens = [one.length for one in rules.constraints if isinstance(one, NoRepeatTokens)]
        self._words = [
            RepeatedWords(one.length, one.surfaces, room, like)
            for one in rules.constraints
            if isinstance(one, NoRepeatWords)
        ]
        for token in rules.prefix:
            self.append(torch.arange(len(like), device=like.device), torch.full_like(like, token))

    def forbid(self, log_probs: Tensor, *, forced_end_is_free: bool = False) -> None:
        """Set forbidden tokens of log_probs (documents * rows, vocab) to -inf.

        Args:
            log_probs: Of the next token.
            forced_end_is_free: Whether EOS has probability 1 at the maximum length.
        """
        log_probs.index_fill_(1, self._suppressed, -math.inf)
        vocab = log_probs.size(1)
        for length in self._no_repeat_tokens:
            follows = _follow(self.tokens, self.length.expand(len(self.tokens)), length - 1)
            log_probs.masked_fill_(_marked(self.tokens[:, length - 1 :], follows, vocab), -math.inf)
        for words in self._words:
            log_probs.masked_fill_(words.forbidden(vocab), -math.inf)
        by_document = log_probs.unflatten(0, (-1, self._rows))
        is_full = (self.maxima <= self.length)[:, None]
        of_eos = by_document[..., self._eos].masked_fill((self.minima > self.length)[:, None], -math.inf)
        if forced_end_is_free:
            of_eos = of_eos.masked_fill(is_full, 0.0)
        by_document.masked_fill_(is_full[..., None], -math.inf)
        by_document[..., self._eos] = of_eos

    def append(self, rows: Tensor, tokens: Tensor) -> None:
        """Continue previous rows (documents * rows,) by tokens."""
        self.tokens = self.tokens.index_select(0, rows).index_copy_(1, self.length.view(1), tokens[:, None])
        for words in self._words:
            words.append(rows, tokens)
        self.length = self.length + 1

    def select(self, documents: Tensor) -> Tensor:
        """Continue with these documents only, (fewer,) indices; return the indices of their rows."""
        rows = rows_of(documents, self._rows)
        self.tokens = self.tokens.index_select(0, rows)
        self.minima, self.maxima = self.minima.index_select(0, documents), self.maxima.index_select(0, documents)
        for words in self._words:
            words.select(rows)
        return rows


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
class RepeatedWords:
    """No n-gram of words occurs twice; see `NoRepeatWords`.

    A word is compared by the 64-bit polynomial hash of its bytes, which is computed token by token, and its length.
    """

    def __init__(self, length: int, surfaces: TokenSurfaces, room: int, like: Tensor) -> None:
        """Begin with empty hypotheses.

        Args:
            length: Words of an n-gram, at least 1.
            surfaces: Surface forms of the vocabulary.
            room: Most tokens of a hypothesis.
            like: (rows,), integers on the device.
        """
        self._context = length - 1
        parts, powers, continuing, starting = _tables(surfaces)
        self._parts, self._powers = to_device(parts, like), to_device(powers, like)
        self._continuing, self._starting = continuing.to(like), starting.to(like)
        self._words = like.new_zeros(2, len(like), room + 1)
        """Hashes and lengths of the complete words, then of the current one, which is empty after white space."""
        self._complete = torch.zeros_like(like)

    def append(self, rows: Tensor, tokens: Tensor) -> None:
        """Continue previous rows (rows,) by tokens (rows,)."""
        self.select(rows)
        starts, part, part_length = self._parts.index_select(1, tokens)
        current, current_length = self._current()
        starts = starts.bool()
        slot = self._complete + (starts & (current_length > 0))
        word = torch.where(starts, 0, current) * self._powers.index_select(0, part_length) + part
        word_length = torch.where(starts, 0, current_length) + part_length
        self._words.scatter_(2, slot.expand(2, -1)[..., None], torch.stack([word, word_length])[..., None])
        self._complete = slot

    def select(self, rows: Tensor) -> None:
        """Continue with these rows only, (fewer,) indices."""
        self._words, self._complete = self._words.index_select(1, rows), self._complete.index_select(0, rows)

    def forbidden(self, vocab: int) -> Tensor:
        """Return which of the tokens may not come next, (rows, vocab)."""
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


@lru_cache(maxsize=2)
def _tables(surfaces: TokenSurfaces) -> tuple[list[list[int]], list[int], _Dictionary, _Dictionary]:
    """Hash the parts of a vocabulary, on the host.

    Returns:
        By token, whether it begins with white space, and hash and length of its part of a word; powers of the base of
        the hash, up to the longest part; parts that continue a word; parts that begin one.
    """
    lengths = [len(part) for part in surfaces.parts]
    powers = [_signed(pow(_BASE, length, _MASK + 1)) for length in range(max(lengths, default=0) + 1)]

    def dictionary(table: Mapping[bytes, Sequence[int]]) -> _Dictionary:
        entries = sorted((_hash(part), len(part), ids) for part, ids in table.items())
        part_of = torch.full((len(lengths),), len(entries))
        for index, (_, _, ids) in enumerate(entries):
            part_of[list(ids)] = index
        # A dictionary without parts has one that no word equals.
        hashes, sizes = zip(*(entry[:2] for entry in entries or [(0, -1, ())]), strict=True)
        return _Dictionary(torch.tensor(hashes), torch.tensor(sizes), part_of)

    parts = [list(map(int, surfaces.starts)), list(map(_hash, surfaces.parts)), lengths]
    return parts, powers, dictionary(surfaces.continuing), dictionary(surfaces.starting)


def _hash(part: bytes) -> int:
    """Return the polynomial hash of bytes modulo 2^64, as a signed integer."""
    value = 0
    for byte in part:
        value = (value * _BASE + byte + 1) & _MASK
    return _signed(value)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _top(totals: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the highest totals of each row and their indices, best first; of equal ones the first.

    `topk` may take any of equal totals. Integers that order as total, then index, are all different.
    """
    bits = (totals + 0.0).view(torch.int32)  # -0.0 and 0.0 are equal
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).long()
    positions = torch.arange(_LAST_INDEX, _LAST_INDEX - totals.size(1), -1, device=totals.device)
    indices = _LAST_INDEX - ((ordered << _LOW_BITS) + positions).topk(count).values.bitwise_and_(_LAST_INDEX)
    return totals.gather(1, indices), indices
