"""Mean and max pooling over fixed windows, one pooled vector per `stride` tokens, independent of content.

The baselines of Pietruszka et al. (appendix A; windows of 4, stride 4), and with a stride of 16 the pooling of their
Funnel rows (Dai et al., "Funnel-Transformer", 2020). Cost: O(length * dim * window / stride), without parameters.

Departures: padding never enters a window (Funnel's released code averages it in), and the number of pooled vectors
follows the real tokens of each document; its last window may be shorter. A mean takes the position of the middle token
of its window (of two the earlier), a maximum that of the token with most features; where windows overlap, only the
first `stride` tokens are candidates, so that no token is chosen twice and the source order is kept.
"""

import math
from typing import Literal, final

import torch
from pydantic import Field
from torch.nn import functional as F

from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.states import Mixture
from sumpool.core.pooling._base import Pooled, Pooler, PoolerConfig, pool_tokens
from sumpool.core.tokens import Tokens


@final
class FunnelPoolerConfig(PoolerConfig):
    """Settings of pooling over fixed windows."""

    kind: Literal["funnel"] = "funnel"
    window: int = Field(4, ge=1, le=10_000_000)
    """Tokens per window."""
    stride: int = Field(4, ge=1, le=10_000_000)
    """Tokens from the start of one window to the start of the next."""
    combine: Literal["mean", "max"] = "mean"
    """Reduction of a window: the mean, or the max of each feature."""


@final
class FunnelPooler(Pooler):
    """Mean or max pooling over fixed windows."""

    config: FunnelPoolerConfig

    def forward(self, tokens: Tokens) -> Pooled:
        """Pool (batch, length, dim) to (batch, windows, dim)."""
        window, stride, is_mean = self.config.window, self.config.stride, self.config.combine == "mean"
        length = tokens.mask.size(1)
        starts = torch.arange(0, min(length, max(1, length - window + stride)), stride, device=tokens.mask.device)
        members = starts[:, None] + torch.arange(window, device=starts.device)  # (windows, window)
        real = tokens.mask.sum(1)[:, None]
        inside = members < real[..., None]  # (batch, windows, window)
        # No window starts beyond the end or within the last tokens of its predecessor.
        mask = starts < real.minimum((real - window + stride).clamp(min=1))
        padding = 0.0 if is_mean else -math.inf
        end = (len(starts) - 1) * stride + window
        states = tokens.states.masked_fill(~tokens.mask[..., None], padding)
        states = F.pad(states, (0, 0, 0, end - length), value=padding)
        windows = states.unfold(1, window, stride)  # (batch, windows, dim, window)
        if is_mean:  # over the real tokens of each window
            size = inside.sum(2, keepdim=True).clamp(min=1)
            pooled, weights = windows.sum(3) / size, inside.to(at_least_float32(windows).dtype) / size
            heaviest = starts + (inside.sum(2) - 1) // 2
        else:  # a token weighs as much as the fraction of features taken from it
            pooled, argmax = windows.max(3)  # (batch, windows, dim)
            fraction = torch.full_like(at_least_float32(pooled), 1 / pooled.size(2))
            weights = fraction.new_zeros(*argmax.shape[:2], window).scatter_add(2, argmax, fraction)
            heaviest = starts + weights[..., :stride].argmax(2)
        members = members.clamp(max=length - 1).expand(inside.shape)
        mixture = Mixture(members, weights.masked_fill(~mask[..., None], 0.0), mask)
        lengths = tokens.lengths and [
            math.ceil(min(real, max(1, real - window + stride)) / stride) for real in tokens.lengths
        ]
        return Pooled(pool_tokens(tokens, pooled, mask, heaviest, lengths), lambda: mixture)
