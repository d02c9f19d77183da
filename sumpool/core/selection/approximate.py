"""A neural approximation of the ideal selection (Manakul and Gales, 2021, Equations 7 to 10).

Keys are sentence vectors, encoded once for all layers; queries are the input of the cross-attention. Scores cost
O(target * sentences * dim) per layer, in addition to the sentence encoder. The selection is trained by the auxiliary
loss `selection` only, since the top-k choice of sentences has no gradient.

Departures from the released code: vectors are split into heads by features, where a reshape mixed sentences; both
projections are initialised from the layer's word attention only where a model is initialised from another one.
"""

from typing import Annotated, ClassVar, Literal, final

from torch import Tensor, nn

from sumpool.core.nn.layers import split_heads
from sumpool.core.nn.sentences import Sentences, sentence_log_softmax
from sumpool.core.selection._base import Selection, SelectionConfig
from sumpool.core.sentence_encoding._base import SentenceEncoder, SentenceEncoderConfig
from sumpool.core.sentence_encoding.attention import AttentionSentenceEncoderConfig
from sumpool.settings import OneOf


@final
class ApproximateSelectionConfig(SelectionConfig):
    """Settings of the approximate selection."""

    kind: Literal["approximate"] = "approximate"
    losses: ClassVar[tuple[str, ...]] = ("selection",)
    encoder: Annotated[SentenceEncoderConfig, OneOf("sumpool.core.sentence_encoding")] = (
        AttentionSentenceEncoderConfig()
    )
    """Encoder that represents each sentence as one vector."""

    def build(self, dim: int, heads: int) -> "ApproximateSelection":
        """Build the selection of one layer."""
        return ApproximateSelection(dim, heads)

    def build_encoder(self, dim: int) -> SentenceEncoder:
        """Build the sentence encoder that all layers share."""
        return self.encoder.build(dim)


@final
class ApproximateSelection(Selection):
    """Attention to sentence vectors."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)

    def precompute(self, key: Tensor, mask: Tensor, sentences: Sentences, vectors: Tensor | None) -> dict[str, Tensor]:
        """Project the sentences once, (batch, heads, sentences, head_dim), and keep their mask."""
        del key, mask
        assert vectors is not None, "settings that build this selection build an encoder of sentences"
        sentence_key = split_heads(self.key(vectors), self.heads).contiguous()  # else every step would copy
        return {"key": sentence_key, "exists": sentences.mask}

    def forward(self, states: Tensor, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Compute log-weights of the sentences."""
        query = split_heads(self.query(states), self.heads)  # (batch, heads, target, head_dim)
        scores = query @ precomputed["key"].transpose(2, 3) / query.size(-1) ** 0.5
        return sentence_log_softmax(scores, precomputed["exists"])
