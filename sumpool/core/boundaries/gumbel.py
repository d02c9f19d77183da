"""Gumbel-sigmoid boundaries (Nawrot et al., section 2.3, "Gumbel-Sigmoid"), learned from the task loss.

A small network gives each token the logit of a relaxed Bernoulli variable: a segment ends there or not. The forward
pass uses the hard sample and the backward pass the relaxed one (straight-through), so that the summarisation loss
trains the network; a binomial prior controls the number of segments. Cost: O(length * dim * hidden).

Departures: by default inference is deterministic and ends a segment where the probability exceeds one half; the
released code samples in evaluation too (`inference: sample`). If no probability reaches one half, the whole document
becomes one vector; `inference: expected` ends as many segments as sampling would on average. The loss of the prior
counts real tokens only.
"""

import math
from typing import ClassVar, Literal, final

from pydantic import Field
from torch import Tensor, nn

from sumpool.core.boundaries._base import Boundaries, BoundariesConfig, Predictor, Segmentation, uniform_draws
from sumpool.core.tokens import Tokens


@final
class GumbelBoundariesConfig(BoundariesConfig):
    """Settings of Gumbel-sigmoid boundaries."""

    kind: Literal["gumbel"] = "gumbel"
    losses: ClassVar[tuple[str, ...]] = ("boundaries",)
    rate: float = Field(0.2, gt=0, lt=1)
    """Prior probability that a token ends a segment, enforced by the loss `boundaries`."""
    hidden: int = Field(2048, ge=1, le=65_536)
    """Hidden width of the boundary predictor."""
    temperature: float = Field(0.5, ge=0.01, le=100)
    """Temperature of the relaxed sample, whose gradient is used."""
    inference: Literal["hard", "expected", "sample"] = "hard"
    """Decision after training: hard ends a segment where the probability exceeds one half, expected at the most likely
    tokens, as many as the probabilities sum to, and sample draws as in training."""

    @property
    def causal(self) -> bool:
        """False for expected decisions, which compare all tokens of a document."""
        return self.inference != "expected"

    def build(self, embedding: nn.Embedding) -> "GumbelBoundaries":
        """Build the predictor."""
        return GumbelBoundaries(self, embedding.embedding_dim)

    def build_causal(self, embedding: nn.Embedding, separators: Tensor, seed: int) -> "GumbelBoundaries":
        """Build the predictor of a language model; in evaluation the same text always has the same draws."""
        del separators
        return GumbelBoundaries(self, embedding.embedding_dim, seed)


@final
class GumbelBoundaries(Boundaries):
    """Segment ends sampled from learned probabilities."""

    def __init__(self, config: GumbelBoundariesConfig, dim: int, seed: int | None = None) -> None:
        super().__init__()
        self.seed = seed
        self.config = config
        self.predictor = Predictor(dim, config.hidden)

    def forward(self, tokens: Tokens) -> Segmentation:
        """Predict the segment ends (batch, length), with the loss of the prior."""
        logits = self.predictor(tokens)
        if not self.training and self.config.inference == "expected":
            return Segmentation(most_likely_ends(logits, tokens.mask).to(logits.dtype))
        if self.training or self.config.inference == "sample":
            draws = uniform_draws(tokens, None if self.training else self.seed).to(logits.dtype)
            logits = logits + draws.logit(eps=1e-6)  # logistic noise: the difference of two Gumbel samples
        soft = (logits / self.config.temperature).sigmoid()
        ends = (logits > 0).to(soft.dtype) + soft - soft.detach()
        return Segmentation(ends, {"boundaries": count_nll(ends, tokens.mask, self.config.rate)})


def most_likely_ends(logits: Tensor, mask: Tensor) -> Tensor:
    """True at the most likely ends, as many as the probabilities of a document sum to: (batch, length).

    Args:
        logits: (batch, length), finite everywhere; of equal logits the first is taken first.
        mask: (batch, length), True at real tokens.
    """
    expected = logits.sigmoid().masked_fill(~mask, 0.0).sum(1, keepdim=True).round()
    order = logits.masked_fill(~mask, -math.inf).argsort(dim=1, descending=True, stable=True)
    return order.argsort(dim=1) < expected


def count_nll(ends: Tensor, mask: Tensor, rate: float) -> Tensor:
    """Negative log-likelihood of the number of ends, -log Binomial(ends; length, rate) / length, a mean over documents.

    Args:
        ends: (batch, length), 0 or 1, finite everywhere.
        mask: (batch, length), True at real tokens.
        rate: Prior probability of an end.

    Returns:
        A scalar, nats per token; a document without tokens counts as 0.
    """
    length = mask.sum(1).to(ends.dtype)
    count = ends.masked_fill(~mask, 0.0).sum(1)
    ways = (length + 1).lgamma() - (count + 1).lgamma() - (length - count + 1).lgamma()
    log_prob = ways + count * math.log(rate) + (length - count) * math.log1p(-rate)
    return (-log_prob / length.clamp(min=1)).mean()
