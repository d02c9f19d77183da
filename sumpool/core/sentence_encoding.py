"""Sentence encoders: one vector per sentence."""

from abc import ABC, abstractmethod
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.numerics import at_least_float32, to_device
from sumpool.core.nn.sentences import Sentences
from sumpool.core.tokens import Tokens
from sumpool.settings import VariantSettings


class SentenceEncoderConfig(VariantSettings):
    """Settings of one sentence encoder."""

    def build(self, dim: int) -> "SentenceEncoder":
        """Build the encoder for states of `dim` features."""
        encoder: SentenceEncoder = self.variant_class(self, dim)
        return encoder


class SentenceEncoder(nn.Module, ABC):
    """Encodes every sentence as one vector, independently of other sentences."""

    @abstractmethod
    def forward(self, memory: Tokens, sentences: Sentences) -> Tensor:
        """Encode sentences.

        Args:
            memory: Output of the document encoder.
            sentences: Sentences of the memory.

        Returns:
            (batch, sentences, dim), finite everywhere; values at sentences that do not exist are undefined.
        """


@final
class AttentionSentenceEncoderConfig(SentenceEncoderConfig):
    """Attention pooling: the weighted mean of the states of a sentence, by one learned query.

    O(length * dim) and one linear map per sentence. The paper's GRU costs O(length * dim^2) and, being recurrent, takes
    the time that sentence selection saves (Manakul and Gales, 2021, section 4.1, ask for a cheaper encoder).
    """

    kind: Literal["attention"] = "attention"


@final
class AttentionSentenceEncoder(SentenceEncoder):
    """Weighted mean of the states of each sentence."""

    def __init__(self, config: AttentionSentenceEncoderConfig, dim: int) -> None:
        super().__init__()
        del config
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


@final
class GruSentenceEncoderConfig(SentenceEncoderConfig):
    """Recurrent sentence encoder (Manakul and Gales, 2021, Equation 10 and appendix A.1): two bidirectional GRU layers.

    A sentence is the concatenation of the final forward and backward states, mapped to `dim` features: O(length *
    dim^2), one recurrent step per state of the longest sentence.

    Departure from the released code: all sentences of a batch are encoded at once without padding, instead of in a
    loop.
    """

    kind: Literal["gru"] = "gru"
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout between the two layers."""


@final
class GruSentenceEncoder(SentenceEncoder):
    """Bidirectional GRU over each sentence."""

    def __init__(self, config: GruSentenceEncoderConfig, dim: int) -> None:
        super().__init__()
        self.read = nn.GRU(dim, dim, num_layers=2, bidirectional=True, dropout=config.dropout)
        self.out = nn.Linear(2 * dim, dim)
        for parameter in self.read.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_normal_(parameter)
            else:
                nn.init.zeros_(parameter)

    def forward(self, memory: Tokens, sentences: Sentences) -> Tensor:
        """Encode sentences."""
        vectors = memory.states.new_zeros(sentences.count.numel(), memory.states.size(2))
        sizes = sentences.count.cpu() if sentences.sizes is None else sentences.sizes
        if not sizes.any():
            return vectors.view(*sentences.count.shape, -1)
        # First states of all sentences, then second ones and so on, the longest sentence first.
        starts = sizes.cumsum(1) - sizes + torch.arange(len(sizes))[:, None] * memory.states.size(1)
        indices = sizes.flatten().nonzero()[:, 0]  # of the real sentences
        count, order = sizes.flatten()[indices].sort(descending=True, stable=True)
        steps = torch.arange(int(count[0]))[:, None]
        unfinished = steps < count  # (states of the longest, real sentences)
        index = (starts.flatten()[indices][order] + steps)[unfinished]
        parts = [index, order, order.argsort(), indices]
        index, order, inverse, indices = to_device(torch.cat(parts), memory.states).split([len(part) for part in parts])
        data = memory.states.flatten(0, 1)[index].to(next(self.read.parameters()).dtype)
        packed = PackedSequence(data, unfinished.sum(1), sorted_indices=order, unsorted_indices=inverse)
        _, ends = self.read(packed)  # (layers * directions, real sentences, dim)
        encoded = self.out(torch.cat([ends[-2], ends[-1]], dim=-1))  # (real sentences, dim)
        vectors = vectors.to(encoded.dtype).index_copy(0, indices, encoded)
        return vectors.view(*sentences.count.shape, -1)
