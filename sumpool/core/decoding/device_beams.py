"""Hypotheses of a beam search as tensors of fixed shapes, extended without a wait of the host for the device."""

import math
from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor

from sumpool.core.decoding.constraints import Rules
from sumpool.core.decoding.device_rules import DeviceRules
from sumpool.core.decoding.ranking import Hypothesis, Lengths, Ranking
from sumpool.core.nn.numerics import to_device

_LOW_BITS = 32
_LAST_INDEX = (1 << _LOW_BITS) - 1


@final
class DeviceBeams:
    """Hypotheses of a batch of documents, all of the same length; their tensors have fixed shapes.

    The rows of hypotheses that can be extended are those of the search, (documents * beams, ...). Hypotheses that have
    ended, (documents, beams), are integers side by side, so that one kernel moves them: their tokens, their number, the
    bits of log-probability and score, and whether there is one.
    """

    def __init__(self, lengths: Sequence[Lengths], ranking: Ranking, rules: Rules, room: int, like: Tensor) -> None:
        """Begin with one hypothesis for each document, the prefix.

        Args:
            lengths: Length bounds of each document.
            ranking: Number of beams, scores and stopping criterion.
            rules: Prefix, constraints and special tokens.
            room: Most tokens of a hypothesis, EOS included.
            like: Integers on the device.
        """
        documents, beams = len(lengths), ranking.beams
        self._ranking = ranking
        self._special_tokens = rules.special_tokens
        self._rules = DeviceRules(lengths, rules, beams, room, like)
        expected = [bounds.maximum if bounds.expected is None else bounds.expected for bounds in lengths]
        self._expected = to_device(expected, like, torch.long)
        divisors = [1.0, *map(ranking.divisor, range(1, max([room, *expected]) + 2))]
        self._divisors = to_device(divisors, like, torch.double)
        self._tokens = like.new_zeros(documents * beams, room)
        self._sums = torch.full((documents, beams), -math.inf, device=like.device)
        self._sums[:, 0] = 0.0
        self._ended = like.new_zeros(documents, beams, room + 4)
        self._finished = torch.zeros(documents, dtype=torch.bool, device=like.device)
        self._nan_after = like.new_full((documents,), -1)
        for token in rules.prefix:
            self._append(torch.arange(len(self._tokens), device=like.device), torch.full_like(like, token))

    def advance(self, log_probs: Tensor) -> tuple[Tensor, Tensor]:
        """Extend the hypotheses of every document by a token.

        Args:
            log_probs: Of the next token, (documents * beams, vocab); overwritten.

        Returns:
            Previous row and last token of each row, (documents * beams,).
        """
        documents, beams = self._sums.shape
        vocab, eos = log_probs.size(1), self._special_tokens.eos
        log_probs_at_once = self._sums[:, 0].double() + log_probs[::beams, eos].double()
        self._rules.forbid(log_probs, forced_end_is_free=self._ranking.forced_end_is_free)
        totals = log_probs.view(documents, beams, vocab).add_(self._sums[..., None]).flatten(1)
        is_first_nan = totals.isnan().any(1) & ~self._finished & (self._nan_after < 0)
        self._nan_after = torch.where(is_first_nan, self._rules.length, self._nan_after)
        # EOS is at most one candidate per beam: `beams` others are always among twice as many candidates.
        scores, indices = _top(totals, min(2 * beams if beams > 1 else 1, beams * vocab))
        beam, token = indices // vocab, indices % vocab
        exists = scores > -math.inf
        is_end = token == eos
        if not self._ranking.force_end:
            is_end |= (self._rules.maxima == self._rules.length + 1)[:, None]
        goes_on = exists & ~is_end
        # Candidates that go on, best first; beams without one repeat the first.
        order = (~goes_on).to(torch.uint8).argsort(dim=1, stable=True)[:, :beams]
        is_live = goes_on.gather(1, order)
        self._end(beam[:, :beams], token[:, :beams], scores[:, :beams], (exists & is_end)[:, :beams])
        self._end_at_once(log_probs_at_once, ~is_live[:, 0])
        order = torch.where(is_live, order, order[:, :1])
        self._sums = scores.gather(1, order).masked_fill(~is_live, -math.inf)
        first_rows = beams * torch.arange(documents, device=beam.device)[:, None]
        rows = (beam.gather(1, order) + first_rows).flatten()
        tokens = token.gather(1, order).masked_fill(~is_live[:, :1], eos).flatten()
        self._append(rows, tokens)
        self._finish(~is_live[:, 0])
        return rows, tokens

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

    def hypotheses(self, documents: Sequence[int]) -> list[list[Hypothesis]]:
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
        beams = self._sums.size(1)
        rows = (documents[:, None] * beams + torch.arange(beams, device=documents.device)).flatten()
        for name in ("_expected", "_sums", "_ended", "_finished", "_nan_after"):
            setattr(self, name, getattr(self, name).index_select(0, documents))
        self._tokens = self._tokens.index_select(0, rows)
        self._rules.select(documents, rows)

    def _end(self, beam: Tensor, token: Tensor, log_probs: Tensor, is_end: Tensor) -> None:
        """End hypotheses with those of the best candidates (documents, beams) that end them."""
        documents, beams = beam.shape
        tokens = self._tokens.view(documents, beams, -1)
        tokens = tokens.gather(1, beam[..., None].expand_as(tokens)).index_copy_(
            2, self._rules.length.view(1), token[..., None]
        )
        lengths = self._rules.length + (token != self._special_tokens.eos)
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
        tokens = self._tokens.view(*self._sums.shape, -1)
        lengths = self._rules.length.expand_as(exists)
        ended = self._packed(tokens, lengths, log_probs[:, None].expand(-1, beams), exists)
        is_needed = has_none & (self._ended[:, 0, -1] == 0) & ~self._finished
        self._ended = torch.where(is_needed[:, None, None], ended, self._ended)

    def _packed(self, tokens: Tensor, lengths: Tensor, log_probs: Tensor, exists: Tensor) -> Tensor:
        """Return hypotheses that end with the next token as integers side by side."""
        scores = log_probs / self._divisors.index_select(0, self._rules.length.view(1) + 1)
        bits = torch.stack([log_probs, scores], dim=-1).view(torch.long)
        return torch.cat([tokens, lengths[..., None], bits, exists[..., None]], dim=-1)

    def _append(self, rows: Tensor, tokens: Tensor) -> None:
        """Continue previous rows by tokens."""
        index = self._rules.length.view(1)
        self._tokens = self._tokens.index_select(0, rows).index_copy_(1, index, tokens[:, None])
        self._rules.append(rows, tokens)

    def _finish(self, has_none: Tensor) -> None:
        """Finish the documents for which no better hypothesis can follow."""
        ranking, scores = self._ranking, self._ended[..., -2].view(torch.double)
        finished = has_none | self._finished
        if ranking.beams == 1:
            finished |= self._ended[:, 0, -1] == 1
        is_enough = self._ended[:, -1, -1] == 1
        if not ranking.early_stopping:
            assumed = self._rules.length.expand_as(self._expected)
            if ranking.length_formula != "transformers":
                assumed = torch.maximum(self._expected, assumed) + 1
            is_enough &= self._sums[:, 0].double() / self._divisors.index_select(0, assumed) <= scores[:, -1]
        self._finished = finished | is_enough


def _top(totals: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the highest totals of each row and their indices, best first; of equal ones the first.

    `topk` may take any of equal totals. Integers that order as total, then index, are all different.
    """
    bits = (totals + 0.0).view(torch.int32)  # -0.0 and 0.0 are equal
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).long()
    positions = torch.arange(_LAST_INDEX, _LAST_INDEX - totals.size(1), -1, device=totals.device)
    indices = _LAST_INDEX - ((ordered << _LOW_BITS) + positions).topk(count).values.bitwise_and_(_LAST_INDEX)
    return totals.gather(1, indices), indices
