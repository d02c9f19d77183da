"""Sentences of the memory, attention weights summed over them, and the entropy and divergence of these.

Log-weights are (batch, heads, target, sentences), as `sentence_log_softmax` returns them: -inf at sentences that do not
exist, which contribute to no result and no gradient.
"""

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


def entropy(log_weights: Tensor) -> Tensor:
    """Entropy over the sentences (Manakul and Gales, 2021, Equation 5).

    Returns:
        (batch, heads, target), in nats; 0 for documents without sentences.
    """
    return -(log_weights.exp() * _finite(log_weights)).sum(-1)


def divergence(target: Tensor, log_weights: Tensor) -> Tensor:
    """Kullback-Leibler divergence KL(target || log_weights) over the sentences (Equation 11).

    Returns:
        (batch, heads, target), in nats; 0 for documents without sentences.
    """
    return (target.exp() * (_finite(target) - _finite(log_weights))).sum(-1)


def sharpen(log_weights: Tensor, temperature: float, exists: Tensor) -> Tensor:
    """Divide log-weights by a temperature and normalise them (Equation 15).

    Args:
        log_weights: (batch, heads, target, sentences).
        temperature: Values below 1 sharpen the distribution.
        exists: (batch, sentences), True at existing sentences.
    """
    return sentence_log_softmax(_finite(log_weights) / temperature, exists)


def mean_over_documents(values: Tensor, mask: Tensor | None) -> Tensor:
    """Mean over heads and real tokens of each document, then over the documents.

    Args:
        values: (batch, heads, target).
        mask: (batch, target), True at real tokens; None where all are.

    Returns:
        A scalar; a document without a real token counts 0.
    """
    values = values.mean(1)  # (batch, target)
    if mask is None:
        return values.mean()
    return (values.masked_fill(~mask, 0.0).sum(1) / mask.sum(1).clamp_min(1)).mean()


def _finite(log_weights: Tensor) -> Tensor:
    """Replace -inf by 0, since -inf times a weight of 0 is NaN."""
    return log_weights.masked_fill(log_weights == -torch.inf, 0.0)
