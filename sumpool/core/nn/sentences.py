"""Sentences of the memory, and attention weights summed over them."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.tokens import Tokens


@dataclass(frozen=True)
class Sentences:
    """Sentences with at least one state, indexed without gaps in document order; each is a range of states.

    Attributes:
        index: (batch, length), sentence of each state; that of the last one at padding.
        first: (batch, sentences), index of the first state of each sentence.
        count: (batch, sentences), number of states of each sentence; 0 where a document has fewer sentences.
        sizes: The same on the host; None where it does not know them.
    """

    index: Tensor
    first: Tensor
    count: Tensor
    sizes: Tensor | None = None

    @classmethod
    def find(cls, memory: Tokens) -> "Sentences":
        """Find the ranges of equal sentence numbers among the real states, which stand first; the host waits once."""
        changes = memory.sentences != F.pad(memory.sentences[:, :-1], (1, 0), value=-1)
        if changes.size(1):
            changes[:, 0] = True
        changes = changes & memory.mask
        index = (changes.cumsum(1) - 1).clamp_min(0)
        count = index.new_zeros(index.size(0), max(1, index.size(1))).scatter_add(1, index, memory.mask.long())
        if torch.compiler.is_exporting():  # the number of sentences is not known: as many as states
            return cls(index, count.cumsum(1) - count, count)
        sizes = count.cpu()
        sentences = max([1, *(sizes > 0).sum(1).tolist()])
        count = count[:, :sentences].contiguous()
        return cls(index, count.cumsum(1) - count, count, sizes[:, :sentences])

    @property
    def mask(self) -> Tensor:
        """(batch, sentences), True at existing sentences."""
        return self.count > 0

    def membership(self, mask: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the one-hot sentence of each real state, (batch, length, sentences).

        Args:
            mask: (batch, length), True at real states.
            dtype: Type of the result.
        """
        one_hot = self.index[..., None] == torch.arange(self.count.size(1), device=mask.device)
        return (one_hot & mask[..., None]).to(dtype)


def sentence_log_softmax(scores: Tensor, exists: Tensor) -> Tensor:
    """Log-softmax over the sentences of each document.

    Args:
        scores: (batch, heads, target, sentences), finite everywhere.
        exists: (batch, sentences), True at existing sentences.

    Returns:
        Log-weights (batch, heads, target, sentences), in at least single precision; -inf at sentences that do not
        exist.
    """
    scores, absent = at_least_float32(scores), ~exists[:, None, None]
    # The least finite number instead of -inf, so that documents without sentences do not become NaN.
    log_weights = scores.masked_fill(absent, torch.finfo(scores.dtype).min).log_softmax(-1)
    return log_weights.masked_fill(absent, -torch.inf)


def sum_over_sentences(scores: Tensor, mask: Tensor, membership: Tensor) -> Tensor:
    """Sum attention weights over the states of each sentence (Manakul and Gales, 2021, Equation 4).

    Args:
        scores: Attention scores (batch, heads, target, length), finite everywhere.
        mask: (batch, length), True at real states.
        membership: (batch, length, sentences), from `Sentences.membership`.

    Returns:
        Log-weights (batch, heads, target, sentences), as `sentence_log_softmax` returns them.
    """
    scores, membership = at_least_float32(scores), at_least_float32(membership)
    weights = scores.masked_fill(~mask[:, None, None], torch.finfo(scores.dtype).min).softmax(-1)
    with torch.autocast(scores.device.type, enabled=False):  # would round the weights
        sums = weights @ membership[:, None]  # (batch, heads, target, sentences)
    absent = ~(membership > 0).any(1)[:, None, None]
    return sums.clamp_min(torch.finfo(sums.dtype).tiny).log().masked_fill(absent, -torch.inf)
