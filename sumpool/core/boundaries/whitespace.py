"""Whitespace boundaries (Nawrot et al., section 2.3): one segment per word, at no cost.

A segment ends where the next token begins a word. In the paper's character sequences a space stands there;
SentencePiece tokens carry it as a prefix.
"""

from typing import Literal, final

from torch import nn

from sumpool.core.boundaries._base import Boundaries, BoundariesConfig, Segmentation, run_ends
from sumpool.core.tokens import Tokens


@final
class WhitespaceBoundariesConfig(BoundariesConfig):
    """Whitespace boundaries have no settings."""

    kind: Literal["whitespace"] = "whitespace"

    def build(self, embedding: nn.Embedding) -> "WhitespaceBoundaries":
        """Build the predictor; the embedding is not used."""
        del embedding
        return WhitespaceBoundaries()


@final
class WhitespaceBoundaries(Boundaries):
    """Segment ends at word ends."""

    def forward(self, tokens: Tokens) -> Segmentation:
        """Mark the segment ends (batch, length)."""
        return Segmentation(run_ends(tokens.words, tokens.mask).to(tokens.states.dtype))
