"""Whitespace boundaries (Nawrot et al., section 2.3): a segment is a word.

A segment ends where the next token begins another word; the paper's characters have a space there, our pieces carry it
in front. Costs nothing.
"""

from typing import Literal, final

from torch import nn

from sumpool.core.boundaries._base import Boundaries, BoundariesConfig, Segmentation, ends_of_runs
from sumpool.core.tokens import Tokens


@final
class WhitespaceBoundariesConfig(BoundariesConfig):
    """No settings."""

    kind: Literal["whitespace"] = "whitespace"

    def build(self, embedding: nn.Embedding) -> "WhitespaceBoundaries":
        """Build it; the embedding is not needed."""
        del embedding
        return WhitespaceBoundaries()


@final
class WhitespaceBoundaries(Boundaries):
    """Ends a segment where a word ends."""

    def forward(self, tokens: Tokens) -> Segmentation:
        """Cut (batch, length, dim) into words."""
        return Segmentation(ends_of_runs(tokens.words, tokens.mask).to(tokens.states.dtype))
