"""No boundaries: a document is one segment.

In a language model no segment ends, so that the middle layers see the null vector only: the lower bound of what
shortening can give, at the cost of the layers around it.
"""

from typing import Literal, final

import torch
from torch import nn

from sumpool.core.boundaries._base import Boundaries, BoundariesConfig, Segmentation
from sumpool.core.tokens import Tokens


@final
class NoneBoundariesConfig(BoundariesConfig):
    """No boundaries; there are no settings."""

    kind: Literal["none"] = "none"

    def build(self, embedding: nn.Embedding) -> "NoneBoundaries":
        """Build the predictor; the embedding is not used."""
        del embedding
        return NoneBoundaries()


@final
class NoneBoundaries(Boundaries):
    """No segment ends."""

    def forward(self, tokens: Tokens) -> Segmentation:
        """Return zeros (batch, length)."""
        return Segmentation(torch.zeros_like(tokens.states[..., 0]))
