"""Unigram boundaries (Nawrot et al., section 2.3, "Segmenting with subword tokenizers"), learned from a segmentation.

A unigram model segments the training documents into phrases (`data.phrases`, see `Phrases`); a small
network learns to predict the phrase ends from the states, and is used alone after training.
Cost: O(length * dim * hidden).

Departures: cross-entropy is computed on logits. The released code applies it to probabilities as if these were logits,
so that it ends a segment only where the target probability exceeds 0.62. Phrases consist of the model's tokens instead
of characters. A language model may have either.
"""

from typing import ClassVar, Literal, final

from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.boundaries._base import Boundaries, BoundariesConfig, Predictor, Segmentation, boundary_loss, run_ends
from sumpool.core.tokens import Tokens


@final
class UnigramBoundariesConfig(BoundariesConfig):
    """Settings of unigram boundaries; `data.phrases` sets the number of phrases."""

    kind: Literal["unigram"] = "unigram"
    supervised: ClassVar[bool] = True
    losses: ClassVar[tuple[str, ...]] = ("boundaries",)
    requires_phrases: ClassVar[bool] = True
    hidden: int = Field(2048, ge=1, le=65_536)
    """Hidden width of the boundary predictor, trained by the loss `boundaries`."""

    def build(self, embedding: nn.Embedding) -> "UnigramBoundaries":
        """Build the predictor."""
        return UnigramBoundaries(self, embedding.embedding_dim)

    def build_causal(self, embedding: nn.Embedding, separators: Tensor, seed: int) -> "UnigramBoundaries":
        """Build the predictor of a language model, whose texts go on: their last token has no target."""
        del separators, seed
        return UnigramBoundaries(self, embedding.embedding_dim, is_open=True)


@final
class UnigramBoundaries(Boundaries):
    """Segment ends at predicted phrase ends."""

    def __init__(self, config: UnigramBoundariesConfig, dim: int, is_open: bool = False) -> None:
        super().__init__()
        self.is_open = is_open
        self.predictor = Predictor(dim, config.hidden)

    def forward(self, tokens: Tokens) -> Segmentation:
        """Predict the segment ends (batch, length), with a loss where phrases are given."""
        logits = self.predictor(tokens)
        ends = (logits > 0).to(logits.dtype)
        if tokens.phrases is None:
            return Segmentation(ends)
        has_successor = F.pad(tokens.mask[:, 1:], (0, 1))
        counted = has_successor if self.is_open else tokens.mask
        loss = boundary_loss(logits, run_ends(tokens.phrases, tokens.mask), counted)
        return Segmentation(ends, {"boundaries": loss})
