"""Tokens that may not come next in any of many hypotheses, as tensors of fixed shapes: lengths and constraints."""

import math
from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor

from sumpool.core.decoding.constraints import NoRepeatTokens, NoRepeatWords, Rules
from sumpool.core.decoding.device_constraints import RepeatedTokens, RepeatedWords, RowConstraint
from sumpool.core.decoding.ranking import Lengths
from sumpool.core.nn.numerics import to_device


@final
class DeviceRules:
    """Length bounds and constraints of the hypotheses of a batch, all of which have the same length.

    Attributes:
        minima: Minimum length of each document, (documents,).
        maxima: Maximum length of each document, (documents,).
        length: Tokens of every hypothesis, ().
    """

    def __init__(self, lengths: Sequence[Lengths], rules: Rules, rows: int, room: int, like: Tensor) -> None:
        """Begin with empty hypotheses.

        Args:
            lengths: Length bounds of each document.
            rules: Constraints and special tokens.
            rows: Hypotheses of a document.
            room: Most tokens of a hypothesis, EOS included.
            like: Integers on the device.
        """
        bounds = [[bound.minimum for bound in lengths], [bound.maximum for bound in lengths]]
        self.minima, self.maxima = to_device(bounds, like, torch.long)
        self.length = like.new_zeros(())
        self._rows = rows
        self._eos = rules.special_tokens.eos
        self._suppressed = to_device(rules.special_tokens.suppressed, like, torch.long)
        total = len(lengths) * rows
        self._constraints: list[RowConstraint] = [
            RepeatedTokens(one.length, total, room, like)
            if isinstance(one, NoRepeatTokens)
            else RepeatedWords(one.length, one.surfaces, total, room, like)
            for one in rules.constraints
            if isinstance(one, NoRepeatTokens | NoRepeatWords)
        ]

    def forbid(self, log_probs: Tensor, *, forced_end_is_free: bool = False) -> None:
        """Set forbidden tokens of log_probs (documents * rows, vocab) to -inf.

        Args:
            log_probs: Of the next token.
            forced_end_is_free: Whether EOS has probability 1 at the maximum length.
        """
        log_probs.index_fill_(1, self._suppressed, -math.inf)
        for constraint in self._constraints:
            log_probs.masked_fill_(constraint.forbidden(log_probs.size(1), self.length), -math.inf)
        by_document = log_probs.unflatten(0, (-1, self._rows))
        is_full = (self.maxima <= self.length)[:, None]
        of_eos = by_document[..., self._eos].masked_fill((self.minima > self.length)[:, None], -math.inf)
        if forced_end_is_free:
            of_eos = of_eos.masked_fill(is_full, 0.0)
        by_document.masked_fill_(is_full[..., None], -math.inf)
        by_document[..., self._eos] = of_eos

    def append(self, rows: Tensor, tokens: Tensor) -> None:
        """Continue previous rows (documents * rows,) by tokens."""
        for constraint in self._constraints:
            constraint.append(rows, tokens, self.length)
        self.length = self.length + 1

    def select(self, documents: Tensor, rows: Tensor) -> None:
        """Continue with these documents only, (fewer,) indices, which have these rows."""
        self.minima, self.maxima = self.minima.index_select(0, documents), self.maxima.index_select(0, documents)
        for constraint in self._constraints:
            constraint.select(rows)
