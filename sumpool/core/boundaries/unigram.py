"""Boundaries learnt from a segmentation of the text (Nawrot et al., section 2.3, "Segmenting with subword tokenizers").

A unigram model knows the phrases of the training documents (`data.phrases`, see `sumpool.text.phrases`); a small
network learns to foresee where they end, and decides alone once it is trained. Cost: O(length * dim * hidden).

Departures: the cross-entropy is taken on logits. The released code applies it to probabilities, as if they were
logits, so that it only cuts where the teacher would with a probability above .62. Phrases are made of the model's own
pieces instead of characters.
"""

from typing import ClassVar, Literal, final

from pydantic import Field
from torch import nn

from sumpool.core.boundaries._base import Boundaries, BoundariesConfig, Segmentation, ends_of_runs
from sumpool.core.boundaries._predictor import Predictor, taught
from sumpool.core.tokens import Tokens


@final
class UnigramBoundariesConfig(BoundariesConfig):
    """Settings of boundaries learnt from phrases; `data.phrases` says how many there are."""

    kind: Literal["unigram"] = "unigram"
    losses: ClassVar[tuple[str, ...]] = ("boundaries",)
    requires_phrases: ClassVar[bool] = True
    hidden: int = Field(2048, ge=1)
    """Width of the network that decides; the loss `boundaries` teaches it."""

    def build(self, embedding: nn.Embedding) -> "UnigramBoundaries":
        """Build it."""
        return UnigramBoundaries(self, embedding.embedding_dim)


@final
class UnigramBoundaries(Boundaries):
    """Ends a segment where it takes a phrase to end."""

    def __init__(self, config: UnigramBoundariesConfig, dim: int) -> None:
        super().__init__()
        self.predictor = Predictor(dim, config.hidden)

    def forward(self, tokens: Tokens) -> Segmentation:
        """Cut (batch, length, dim) into segments."""
        logits = self.predictor(tokens)
        ends = (logits > 0).to(logits.dtype)
        if tokens.phrases is None:
            return Segmentation(ends)
        return Segmentation(
            ends, {"boundaries": taught(logits, ends_of_runs(tokens.phrases, tokens.mask), tokens.mask)}
        )
