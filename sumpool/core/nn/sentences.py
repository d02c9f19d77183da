"""Where the sentences of a document stand among its vectors, and how attention is shared out among them."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.tokens import Tokens


@dataclass(frozen=True)
class Sentences:
    """The sentences that have a vector, numbered without gaps in the order of the document; each is one run of vectors.

    Attributes:
        number: (batch, length), sentence of each vector; that of the last one at padding.
        first: (batch, sentences), index of the first vector of each.
        count: (batch, sentences), vectors of each; 0 where a document has no such sentence.
    """

    number: Tensor
    first: Tensor
    count: Tensor

    @classmethod
    def find(cls, memory: Tokens) -> "Sentences":
        """Find the runs of equal sentence numbers among the real vectors, which stand first."""
        changes = memory.sentences != F.pad(memory.sentences[:, :-1], (1, 0), value=-1)
        if changes.size(1):
            changes[:, 0] = True
        changes = changes & memory.mask
        number = (changes.cumsum(1) - 1).clamp_min(0)
        most = max(1, int(changes.sum(1).max())) if number.numel() else 1
        count = number.new_zeros(len(number), most).scatter_add(1, number, memory.mask.long())
        return cls(number, count.cumsum(1) - count, count)

    @property
    def mask(self) -> Tensor:
        """(batch, sentences), True where a document has such a sentence."""
        return self.count > 0

    def membership(self, mask: Tensor, dtype: torch.dtype) -> Tensor:
        """Write out who belongs where: (batch, length, sentences), 1 at the sentence of a real vector.

        Args:
            mask: (batch, length), True at real vectors.
            dtype: Of the result.
        """
        one_hot = self.number[..., None] == torch.arange(self.count.size(1), device=mask.device)
        return (one_hot & mask[..., None]).to(dtype)


def share_out(scores: Tensor, exists: Tensor) -> Tensor:
    """Share attention out among the sentences of each document, by a softmax over them.

    Args:
        scores: (batch, heads, target, sentences), finite everywhere.
        exists: (batch, sentences), True where a document has such a sentence.

    Returns:
        (batch, heads, target, sentences), logarithms of shares in at least single precision; -inf where a document has
        no such sentence.
    """
    scores, absent = at_least_float32(scores), ~exists[:, None, None]
    # The least finite number, not -inf: a document without sentences must not become NaN on its way.
    shares = scores.masked_fill(absent, torch.finfo(scores.dtype).min).log_softmax(-1)
    return shares.masked_fill(absent, -torch.inf)


def share_words(scores: Tensor, mask: Tensor, membership: Tensor) -> Tensor:
    """Sum attention to the vectors of each sentence (Manakul and Gales, 2021, Equation 4).

    Args:
        scores: (batch, heads, target, length), finite everywhere.
        mask: (batch, length), True at real vectors.
        membership: (batch, length, sentences), as `Sentences.membership` gives it.

    Returns:
        (batch, heads, target, sentences), as `share_out` gives it.
    """
    scores, membership = at_least_float32(scores), at_least_float32(membership)
    weights = scores.masked_fill(~mask[:, None, None], torch.finfo(scores.dtype).min).softmax(-1)
    with torch.autocast(scores.device.type, enabled=False):  # would round the weights
        shares = weights @ membership[:, None]  # (batch, heads, target, sentences)
    absent = ~(membership > 0).any(1)[:, None, None]
    return shares.clamp_min(torch.finfo(shares.dtype).tiny).log().masked_fill(absent, -torch.inf)
