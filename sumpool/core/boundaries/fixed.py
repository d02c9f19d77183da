"""Fixed boundaries (Nawrot et al., the fixed baseline of section 3): a segment has so many tokens.

Costs nothing. Counted within each document, so that the first segment is as long as the others; in the released code,
which counts through the whole stream of text, segments begin anywhere.
"""

from typing import Literal, final

import torch
from pydantic import Field
from torch import nn

from sumpool.core.boundaries._base import Boundaries, BoundariesConfig, Segmentation
from sumpool.core.tokens import Tokens


@final
class FixedBoundariesConfig(BoundariesConfig):
    """Settings of fixed boundaries."""

    kind: Literal["fixed"] = "fixed"
    size: int = Field(4, ge=1)
    """Tokens of a segment; the last one of a document may have fewer."""

    def build(self, embedding: nn.Embedding) -> "FixedBoundaries":
        """Build it; the embedding is not needed."""
        del embedding
        return FixedBoundaries(self.size)


@final
class FixedBoundaries(Boundaries):
    """Ends a segment every so many tokens."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, tokens: Tokens) -> Segmentation:
        """Cut (batch, length, dim) into segments."""
        places = torch.arange(1, tokens.mask.size(1) + 1, device=tokens.mask.device)
        ends = (places % self.size == 0).expand(tokens.mask.shape)
        return Segmentation(ends.to(tokens.states.dtype))
