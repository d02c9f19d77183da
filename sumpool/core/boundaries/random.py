"""Random boundaries: each token ends a segment with a fixed probability. Baseline for learned boundaries, at no cost.

In training every forward pass draws anew; in evaluation the draw is a hash of a seed, the token's id, and its index in
the document: independent of padding, batch mates and earlier runs.
"""

from typing import Literal, final

from pydantic import Field
from torch import Tensor, nn

from sumpool.core.boundaries._base import Boundaries, BoundariesConfig, Segmentation, uniform_draws
from sumpool.core.tokens import Tokens


@final
class RandomBoundariesConfig(BoundariesConfig):
    """Settings of random boundaries."""

    kind: Literal["random"] = "random"
    rate: float = Field(0.2, gt=0, lt=1)
    """Probability that a token ends a segment."""

    def build(self, embedding: nn.Embedding) -> "RandomBoundaries":
        """Build the predictor; the embedding is not used."""
        del embedding
        return RandomBoundaries(self.rate, 0)

    def build_causal(self, embedding: nn.Embedding, separators: Tensor, seed: int) -> "RandomBoundaries":
        """Build the predictor of a language model."""
        del embedding, separators
        return RandomBoundaries(self.rate, seed)


@final
class RandomBoundaries(Boundaries):
    """Segment ends drawn independently."""

    def __init__(self, rate: float, seed: int) -> None:
        super().__init__()
        self.rate, self.seed = rate, seed

    def forward(self, tokens: Tokens) -> Segmentation:
        """Draw the segment ends (batch, length)."""
        draws = uniform_draws(tokens, None if self.training else self.seed)
        return Segmentation((draws < self.rate).to(tokens.states.dtype))
