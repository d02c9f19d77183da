"""Mean and max pooling over windows: every `stride` tokens leave one vector, whatever they say.

The baselines of Pietruszka et al. (appendix A; windows of 4, stride 4), and with a stride of 16 the pooling of their
Funnel rows (Dai et al., "Funnel-Transformer", 2020). Costs O(length * dim * window / stride), without a parameter.

Departures: padding never enters a window (Funnel's released code averages it in), and a document leaves as many vectors
as its own tokens need; its last window may be shorter. A mean stands where the middle token of its window stood (of two
the earlier), a maximum where the token stood that gave most features; where windows overlap, only the first `stride`
tokens count for that, so that no token is the heaviest twice and the order of the source stays.
"""

import math
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.mixture import Mixture
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.states import States
from sumpool.core.pooling._base import Pooled, Pooler, PoolerConfig, leave
from sumpool.core.tokens import Tokens


@final
class FunnelPoolerConfig(PoolerConfig):
    """Settings of pooling over windows."""

    kind: Literal["funnel"] = "funnel"
    window: int = Field(4, ge=1)
    """Consecutive tokens behind every vector that is left."""
    stride: int = Field(4, ge=1)
    """Tokens from one window to the next; each leaves one vector."""
    combine: Literal["mean", "max"] = "mean"
    """What is left of a window: its mean, or the largest value of each feature."""

    def build(self, embedding: nn.Embedding) -> "FunnelPooler":
        """Build the pooler."""
        del embedding
        return FunnelPooler(self)


@final
class FunnelPooler(Pooler):
    """Leaves one vector of every window."""

    def __init__(self, config: FunnelPoolerConfig) -> None:
        super().__init__()
        self.config = config

    def forward(self, tokens: Tokens, vectors: States | None = None) -> Pooled:
        """Pool (batch, length, dim) to (batch, windows, dim)."""
        tokens = vectors.all() if vectors else tokens
        window, stride = self.config.window, self.config.stride
        length = tokens.mask.size(1)
        starts = torch.arange(0, min(length, max(1, length - window + stride)), stride, device=tokens.mask.device)
        members = starts[:, None] + torch.arange(window, device=starts.device)  # (windows, window)
        real = tokens.mask.sum(1)[:, None]
        inside = members < real[..., None]  # (batch, windows, window)
        # No window begins behind the end, or covers nothing that the one before it did not.
        mask = starts < real.minimum((real - window + stride).clamp(min=1))
        if self.config.combine == "mean":
            left, weights = _mean(self._windows(tokens, len(starts), 0.0), inside)
            heaviest = starts + (inside.sum(2) - 1) // 2
        else:
            left, weights = _largest(self._windows(tokens, len(starts), -math.inf))
            heaviest = starts + weights[..., :stride].argmax(2)
        members = members.clamp(max=length - 1).expand(inside.shape)
        mixture = Mixture(members, weights.masked_fill(~mask[..., None], 0.0), mask)
        return Pooled(leave(tokens, left, mask, heaviest), lambda: mixture)

    def _windows(self, tokens: Tokens, number: int, padding: float) -> Tensor:
        """View the vectors as (batch, windows, dim, window), with `padding` wherever there is none."""
        states = tokens.states.masked_fill(~tokens.mask[..., None], padding)
        end = (number - 1) * self.config.stride + self.config.window
        reached = F.pad(states, (0, 0, 0, end - states.size(1)), value=padding)
        return reached.unfold(1, self.config.window, self.config.stride)


def _mean(windows: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
    """Average each window (batch, windows, dim, window) over what is inside: vectors, and the weights of the tokens."""
    size = inside.sum(2, keepdim=True).clamp(min=1)
    return windows.sum(3) / size, inside.to(at_least_float32(windows).dtype) / size


def _largest(windows: Tensor) -> tuple[Tensor, Tensor]:
    """Take each feature's largest value: vectors, and the share of the features that each token gave."""
    values, givers = windows.max(3)  # (batch, windows, dim)
    share = torch.full_like(at_least_float32(values), 1 / values.size(2))
    return values, share.new_zeros(*givers.shape[:2], windows.size(3)).scatter_add(2, givers, share)
