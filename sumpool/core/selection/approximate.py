"""A neural approximation of the ideal selection (Manakul and Gales, 2021, Equations 7 to 10).

One vector of each sentence, made once for all layers, is a key; what the cross-attention is given is a query. Scores
O(target * sentences * dim) per layer, beside what encoding the sentences costs. It learns from the auxiliary loss
`selection` alone: choosing the best sentences has no gradient.

Departures from the released code: vectors are split into heads by their features, where a reshape mixed the sentences;
the first weights of both maps are those of the layer's word attention only where a model begins with another one.
"""

from typing import Annotated, ClassVar, Literal, final

from torch import Tensor, nn

from sumpool.core.nn.layers import split_heads
from sumpool.core.nn.sentences import Sentences, share_out
from sumpool.core.selection._base import Selection, SelectionConfig
from sumpool.core.sentence_encoding._base import SentenceEncoder, SentenceEncoderConfig
from sumpool.core.sentence_encoding.attention import AttentionSentenceEncoderConfig
from sumpool.variants import OneOf


@final
class ApproximateSelectionConfig(SelectionConfig):
    """Settings of the approximate selection."""

    kind: Literal["approximate"] = "approximate"
    losses: ClassVar[tuple[str, ...]] = ("selection",)
    encoder: Annotated[SentenceEncoderConfig, OneOf("sumpool.core.sentence_encoding")] = (
        AttentionSentenceEncoderConfig()
    )
    """What makes one vector of a sentence."""

    def build(self, dim: int, heads: int) -> "ApproximateSelection":
        """Build it for one layer."""
        return ApproximateSelection(dim, heads)

    def build_encoder(self, dim: int) -> SentenceEncoder:
        """Build what encodes sentences for all layers."""
        return self.encoder.build(dim)


@final
class ApproximateSelection(Selection):
    """Attends to vectors of sentences."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)

    def precompute(self, key: Tensor, mask: Tensor, sentences: Sentences, vectors: Tensor | None) -> dict[str, Tensor]:
        """Project the sentences once, (batch, heads, sentences, head_dim), and keep which there are."""
        del key, mask
        assert vectors is not None, "settings that build this selection build an encoder of sentences"
        own = split_heads(self.key(vectors), self.heads).contiguous()  # or every step would copy it
        return {"key": own, "exists": sentences.mask}

    def forward(self, states: Tensor, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Share out; see `Selection.forward`."""
        query = split_heads(self.query(states), self.heads)  # (batch, heads, target, head_dim)
        scores = query @ precomputed["key"].transpose(2, 3) / query.size(-1) ** 0.5
        return share_out(scores, precomputed["exists"])
