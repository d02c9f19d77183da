"""Attention pooling: the weighted mean of the states of a sentence, by one learned query.

O(length * dim) and one linear map per sentence. The paper's GRU costs O(length * dim^2) and, being recurrent, takes the
time that sentence selection saves (Manakul and Gales, 2021, section 4.1, ask for a cheaper encoder).
"""

from typing import Literal, final

import torch
from torch import Tensor, nn

from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.sentences import Sentences
from sumpool.core.sentence_encoding._base import SentenceEncoder, SentenceEncoderConfig
from sumpool.core.tokens import Tokens


@final
class AttentionSentenceEncoderConfig(SentenceEncoderConfig):
    """No settings."""

    kind: Literal["attention"] = "attention"

    def build(self, dim: int) -> "AttentionSentenceEncoder":
        """Build the encoder."""
        return AttentionSentenceEncoder(dim)


@final
class AttentionSentenceEncoder(SentenceEncoder):
    """Weighted mean of the states of each sentence."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weigh = nn.Linear(dim, 1)
        self.out = nn.Linear(dim, dim)

    def forward(self, memory: Tokens, sentences: Sentences) -> Tensor:
        """Encode sentences."""
        states = zero_padding(memory.states, memory.mask)
        scores = at_least_float32(self.weigh(states).squeeze(-1)).masked_fill(~memory.mask, -torch.inf)
        # Softmax within each sentence; the highest score is subtracted to avoid overflow.
        highest = scores.new_full(sentences.count.shape, -torch.inf).scatter_reduce(
            1, sentences.index, scores.detach(), "amax"
        )
        weights = (scores - highest.gather(1, sentences.index)).exp().masked_fill(~memory.mask, 0.0)
        total = torch.zeros_like(highest).scatter_add(1, sentences.index, weights)
        weights = weights / total.gather(1, sentences.index).masked_fill(~memory.mask, 1.0)  # (batch, length)
        index = sentences.index[..., None].expand_as(states)
        mixed = states.new_zeros(*sentences.count.shape, states.size(2)).scatter_add(
            1, index, states * weights.to(states.dtype)[..., None]
        )
        vectors: Tensor = self.out(mixed)  # (batch, sentences, dim)
        return vectors
