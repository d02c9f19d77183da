"""Boundaries learnt from the task itself (Nawrot et al., section 2.3, "Gumbel-Sigmoid").

A small network decides by a relaxed coin whether a segment ends at a token; the decision is hard on the way forward and
soft on the way back, so that the summary's loss moves it, and a Binomial prior keeps the number of segments in place.
Cost: O(length * dim * hidden).

Departures: a trained model decides without chance, an end wherever one is more likely than not; the released code
draws in evaluation too, which `inference: sample` does. Where the network is not sure of itself no token reaches one
half, and the whole document becomes one vector; `inference: expected` ends as many segments as the coin would on
average. The prior's loss counts real tokens only.
"""

import math
from typing import ClassVar, Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn

from sumpool.core.boundaries._base import Boundaries, BoundariesConfig, Segmentation
from sumpool.core.boundaries._predictor import Predictor
from sumpool.core.tokens import Tokens


@final
class GumbelBoundariesConfig(BoundariesConfig):
    """Settings of boundaries learnt from the task."""

    kind: Literal["gumbel"] = "gumbel"
    losses: ClassVar[tuple[str, ...]] = ("boundaries",)
    rate: float = Field(0.2, gt=0, lt=1)
    """Share of tokens that end a segment, as the prior has it; the loss `boundaries` holds them to it."""
    hidden: int = Field(2048, ge=1)
    """Width of the network that decides."""
    temperature: float = Field(0.5, gt=0)
    """How soft the coin is on the way back."""
    inference: Literal["hard", "expected", "sample"] = "hard"
    """How a trained model decides: each token by itself (above one half); for the likeliest, as many as are expected;
    or by the coin, as in training."""

    def build(self, embedding: nn.Embedding) -> "GumbelBoundaries":
        """Build it."""
        return GumbelBoundaries(self, embedding.embedding_dim)


@final
class GumbelBoundaries(Boundaries):
    """Tosses a coin for every token, and learns how to load it."""

    def __init__(self, config: GumbelBoundariesConfig, dim: int) -> None:
        super().__init__()
        self.config = config
        self.predictor = Predictor(dim, config.hidden)

    def forward(self, tokens: Tokens) -> Segmentation:
        """Cut (batch, length, dim) into segments."""
        logits = self.predictor(tokens)
        if not self.training and self.config.inference == "expected":
            return Segmentation(likeliest(logits, tokens.mask).to(logits.dtype))
        if self.training or self.config.inference == "sample":
            logits = logits + torch.rand_like(logits).logit(eps=1e-6)  # a logistic number: the difference of two Gumbel
        soft = (logits / self.config.temperature).sigmoid()
        ends = (logits > 0).to(soft.dtype) + soft - soft.detach()
        return Segmentation(ends, {"boundaries": surprise_of_count(ends, tokens.mask, self.config.rate)})


def likeliest(logits: Tensor, mask: Tensor) -> Tensor:
    """Mark the likeliest ends, as many as the probabilities of a document sum up to: (batch, length).

    Args:
        logits: (batch, length), finite everywhere; the first of equals counts as likelier.
        mask: (batch, length), True at real tokens.
    """
    expected = logits.sigmoid().masked_fill(~mask, 0.0).sum(1, keepdim=True).round()
    order = logits.masked_fill(~mask, -math.inf).argsort(dim=1, descending=True, stable=True)
    return order.argsort(dim=1) < expected


def surprise_of_count(ends: Tensor, mask: Tensor, rate: float) -> Tensor:
    """Say how surprising the number of ends is: -log Binomial(ends; length, rate) / length, a mean over documents.

    Args:
        ends: (batch, length), 0 or 1, finite everywhere.
        mask: (batch, length), True at real tokens.
        rate: How likely the prior takes an end to be.

    Returns:
        A scalar, nats per token; a document without tokens counts as 0.
    """
    length = mask.sum(1).to(ends.dtype)
    found = ends.masked_fill(~mask, 0.0).sum(1)
    ways = (length + 1).lgamma() - (found + 1).lgamma() - (length - found + 1).lgamma()
    log_prob = ways + found * math.log(rate) + (length - found) * math.log1p(-rate)
    return (-log_prob / length.clamp(min=1)).mean()
