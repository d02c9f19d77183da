"""Sentence boundaries: a segment is a sentence.

What whitespace is to words (Nawrot et al., section 2.3), the sentence splitter is to sentences: known before training,
and meaningful by themselves. Not in the paper, whose segments lie within words. Costs nothing.
"""

from typing import Literal, final

from torch import nn

from sumpool.core.boundaries._base import Boundaries, BoundariesConfig, Segmentation, ends_of_runs
from sumpool.core.tokens import Tokens


@final
class SentenceBoundariesConfig(BoundariesConfig):
    """No settings."""

    kind: Literal["sentence"] = "sentence"

    def build(self, embedding: nn.Embedding) -> "SentenceBoundaries":
        """Build it; the embedding is not needed."""
        del embedding
        return SentenceBoundaries()


@final
class SentenceBoundaries(Boundaries):
    """Ends a segment where a sentence ends."""

    def forward(self, tokens: Tokens) -> Segmentation:
        """Cut (batch, length, dim) into sentences."""
        return Segmentation(ends_of_runs(tokens.sentences, tokens.mask).to(tokens.states.dtype))
