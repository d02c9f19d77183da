"""Sentence boundaries: one segment per sentence, at no cost.

The counterpart of whitespace boundaries (Nawrot et al., section 2.3) on the level of sentences; not in the paper, whose
segments are parts of words.
"""

from typing import Literal, final

from torch import nn

from sumpool.core.boundaries._base import Boundaries, BoundariesConfig, Segmentation, run_ends
from sumpool.core.tokens import Tokens


@final
class SentenceBoundariesConfig(BoundariesConfig):
    """Sentence boundaries have no settings."""

    kind: Literal["sentence"] = "sentence"

    @property
    def causal(self) -> bool:
        """False: a sentence's last token is known by the next."""
        return False

    def build(self, embedding: nn.Embedding) -> "SentenceBoundaries":
        """Build the predictor; the embedding is not used."""
        del embedding
        return SentenceBoundaries()


@final
class SentenceBoundaries(Boundaries):
    """Segment ends at sentence ends."""

    def forward(self, tokens: Tokens) -> Segmentation:
        """Mark the segment ends (batch, length)."""
        return Segmentation(run_ends(tokens.sentences, tokens.mask).to(tokens.states.dtype))
