"""Synthesizer attention (Tay et al., 2021): scores that no pair of tokens is compared for.

The scores of a query come from the query alone (`dense`: two linear maps with a ReLU between them give a score for
every position in the document) or from its position (`random`: a learned matrix). Both have a factorised form with
fewer parameters. The softmax and the values are those of full attention: O(length^2 * dim), with fewer products.

Indices are those among the vectors of the layer, so that documents may have at most `length` of them there. Padding is
masked. Departures from the paper: the second map of `dense` has no bias and is one per head; both factors of
`factorized_dense` share the first map.
"""

import math
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.masking import masked_softmax
from sumpool.core.tokens import Tokens

SynthesizerKind = Literal["dense", "factorized_dense", "random", "factorized_random"]


@final
class SynthesizerAttentionConfig(AttentionConfig):
    """Settings of Synthesizer attention."""

    kind: Literal["synthesizer"] = "synthesizer"
    scores: SynthesizerKind = "factorized_random"
    """Source of the scores: dense, the query; random, a learned matrix; factorized, products of smaller ones."""
    length: int = Field(2048, ge=1, le=65_536)
    """Vectors of a document at most; at least `model.source_length`."""
    rank: int = Field(8, ge=1, le=65_536)
    """Rank of `factorized_random`."""

    @property
    def max_length(self) -> int:
        """Vectors of a document at most."""
        return self.length


@final
class SynthesizerAttention(Attention):
    """Self-attention with scores from queries or positions alone."""

    projections = 1

    def __init__(self, config: SynthesizerAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads)
        self.widen = nn.Linear(dim, dim) if "dense" in config.scores else None
        self.place_vectors = config.scores == "factorized_random"
        self.columns = math.isqrt(config.length - 1) + 1
        head_dim = dim // heads
        shapes: dict[SynthesizerKind, tuple[tuple[int, int, int], ...]] = {
            "dense": ((heads, head_dim, config.length),),
            "factorized_dense": ((heads, head_dim, -(-config.length // self.columns)), (heads, head_dim, self.columns)),
            "random": ((heads, config.length, config.length),),
            "factorized_random": ((heads, config.length, config.rank),) * 2,
        }
        self.factors = nn.ParameterList(nn.Parameter(torch.empty(shape)) for shape in shapes[config.scores])
        for factor in self.factors:
            nn.init.normal_(factor, std=factor.size(1) ** -0.5 if self.widen else config.rank**-0.25)

    def _mix(self, tokens: Tokens) -> Tensor:
        if self.place_vectors:
            return super()._mix(tokens)
        states, length = tokens.states, tokens.states.size(1)
        if self.widen is None:
            scores = self.factors[0][None, :, :length, :length]  # (1, heads, length, length)
        else:
            query = split_heads(F.relu(self.widen(states)), self.heads)  # (batch, heads, length, head_dim)
            if len(self.factors) == 1:
                scores = query @ self.factors[0][..., :length]
            else:
                rows, columns = (query @ factor for factor in self.factors)
                scores = (rows[..., None] * columns[..., None, :]).flatten(3)[..., :length]
        weights = masked_softmax(scores, ~tokens.mask[:, None, None])  # (batch, heads, length, length)
        value = split_heads(self.project(states), self.heads)
        return merge_heads(weights.to(value.dtype) @ value)

    def _project(self, tokens: Tokens) -> tuple[Tensor, Tensor, Tensor]:
        """Vectors of positions as queries and keys, whose scaled products are the scores, and values.

        Those of fewer columns than the values are filled with zeros, which fused kernels need.
        """
        states = tokens.states
        value = split_heads(self.project(states), self.heads)
        query, key = (factor[None, :, : states.size(1)].expand(len(states), -1, -1, -1) for factor in self.factors)
        columns = max(0, value.size(3) - query.size(3))
        query, key = (F.pad(part, (0, columns)) for part in (query, key))
        return query * math.sqrt(query.size(3)), key, value
