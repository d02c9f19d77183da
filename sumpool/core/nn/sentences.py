"""Where the sentences of a document stand among its vectors."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

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
