"""Whitespace boundaries (Nawrot et al., section 2.3): one segment per word, at no cost.

A segment ends where the next token begins a word. In the paper's character sequences a space stands there;
SentencePiece tokens carry it as a prefix. A language model does not know the next token: its segments end at the space
itself, and at a token with a prefix, the first of its word.
"""

from typing import Literal, final

from torch import Tensor, nn

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

    def build_causal(self, embedding: nn.Embedding, separators: Tensor, seed: int) -> "SeparatorBoundaries":
        """Build the predictor of a language model, whose segments end at the space itself."""
        del embedding, seed
        return SeparatorBoundaries(separators)


@final
class SeparatorBoundaries(Boundaries):
    """Segment ends at tokens that end a word, such as a space."""

    separators: Tensor

    def __init__(self, separators: Tensor) -> None:
        super().__init__()
        self.register_buffer("separators", separators, persistent=False)

    def forward(self, tokens: Tokens) -> Segmentation:
        """Mark the segment ends (batch, length)."""
        return Segmentation(self.separators[tokens.ids].to(tokens.states.dtype))


@final
class WhitespaceBoundaries(Boundaries):
    """Segment ends at word ends."""

    def forward(self, tokens: Tokens) -> Segmentation:
        """Mark the segment ends (batch, length)."""
        return Segmentation(run_ends(tokens.words, tokens.mask).to(tokens.states.dtype))
