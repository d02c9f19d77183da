"""Distilling (Zhou et al., "Informer", 2021, Equation 5): convolution, ELU and max pooling halve a document.

A convolution over three tokens is followed by the maximum of each feature over windows of three tokens with stride 2,
so that layers after it attend to half of the vectors: O(length * dim^2).

Departures from the released code: no batch normalisation, with which documents of a batch change each other; no
circular padding, and padding never enters a convolution or a window; any length works, one vector remaining of an odd
pair. A pooled vector takes the position of the token of its pair with most features.
"""

from typing import Literal, final

import torch
from torch import nn
from torch.nn import functional as F

from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.states import Mixture
from sumpool.core.pooling._base import Pooled, Pooler, PoolerConfig, pool_tokens
from sumpool.core.tokens import Tokens


@final
class DistillingPoolerConfig(PoolerConfig):
    """Distilling has no settings."""

    kind: Literal["distilling"] = "distilling"


@final
class DistillingPooler(Pooler):
    """Convolution and max pooling with stride 2.

    Attributes:
        convolve: Linear map of each token with the tokens before and after it.
    """

    def __init__(self, config: DistillingPoolerConfig, embedding: nn.Embedding) -> None:
        super().__init__(config, embedding)
        self.convolve = nn.Linear(3 * embedding.embedding_dim, embedding.embedding_dim)

    def forward(self, tokens: Tokens) -> Pooled:
        """Pool (batch, length, dim) to (batch, half of the length rounded up, dim)."""
        states, odd = zero_padding(tokens.states, tokens.mask), tokens.mask.size(1) % 2
        before, after = F.pad(states, (0, 0, 1, 0))[:, :-1], F.pad(states, (0, 0, 0, 1))[:, 1:]
        convolved = F.elu(self.convolve(torch.cat([before, states, after], dim=2)))
        # States before, at and after every second token, (batch, pairs, 3, dim), the lowest value at missing ones.
        lowest = torch.finfo(convolved.dtype).min
        convolved = convolved.masked_fill(~tokens.mask[..., None], lowest)
        windows = F.pad(convolved, (0, 0, 1, 1 + odd), value=lowest).unfold(1, 3, 2).transpose(2, 3)
        values, argmax = windows.max(2)  # (batch, pairs, dim)
        fraction = torch.full_like(at_least_float32(values), 1 / values.size(2))
        weights = fraction.new_zeros(windows.shape[:3]).scatter_add(2, argmax, fraction)  # (batch, pairs, 3)
        mask = F.pad(tokens.mask, (0, odd))[:, ::2]
        weights = weights.masked_fill(~mask[..., None], 0.0)
        first = 2 * torch.arange(mask.size(1), device=mask.device)
        members = (first[:, None] + torch.arange(-1, 2, device=mask.device)).clamp(0, tokens.mask.size(1) - 1)
        heaviest = first + weights[..., 1:].argmax(2)
        mixture = Mixture(members.expand(weights.shape), weights, mask)
        lengths = tokens.lengths and [(real + 1) // 2 for real in tokens.lengths]
        return Pooled(pool_tokens(tokens, values, mask, heaviest, lengths), lambda: mixture)
