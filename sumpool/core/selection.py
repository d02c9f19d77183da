"""Sentence selection: which sentences of the document a summary token attends to."""

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, Literal, final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.layers import split_heads
from sumpool.core.nn.numerics import at_least_float32, hash_uniform, matmul_exactly
from sumpool.core.nn.sentences import Sentences, sentence_log_softmax, sum_over_sentences
from sumpool.core.sentence_encoding import AttentionSentenceEncoderConfig, SentenceEncoderConfig
from sumpool.settings import OneOf, VariantSettings

_FREQUENCY = 8.0
"""Frequency of random scores in evaluation: high enough that states a fifth of their norm apart select independently;
low enough to be robust to rounding."""


class SelectionConfig(VariantSettings):
    """Settings of one selection."""

    losses: ClassVar[tuple[str, ...]] = ()
    """Auxiliary losses that train the selection."""

    def build(self, dim: int, heads: int) -> "Selection":
        """Build the selection for one decoder layer with states of `dim` features."""
        selection: Selection = self.variant_class(self, dim, heads)
        return selection


class Selection(nn.Module, ABC):
    """Distribution of each summary token over the sentences of the document."""

    def __init__(self, config: SelectionConfig, dim: int, heads: int) -> None:
        super().__init__()
        del config
        self.dim, self.heads = dim, heads

    @abstractmethod
    def precompute(self, key: Tensor, mask: Tensor, sentences: Sentences, vectors: Tensor | None) -> dict[str, Tensor]:
        """Compute what the selection needs of a document once for all decoding steps.

        Args:
            key: (batch, heads, length, head_dim), keys of the layer's word attention, finite everywhere.
            mask: (batch, length), True at real states.
            sentences: Sentences of the memory.
            vectors: (batch, sentences, dim), output of the selection's sentence encoder; None if it has none.

        Returns:
            Tensors, batch first, shared by all beams of a document.
        """

    @abstractmethod
    def forward(self, states: Tensor, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Compute log-weights of the sentences.

        Args:
            states: (batch, target, dim), input of the cross-attention.
            query: (batch, heads, target, head_dim), queries of the layer's word attention.
            precomputed: Result of `precompute` for the documents.

        Returns:
            (batch, heads, target, sentences), logarithms of weights that sum to 1 over existing sentences; -inf at
            others.
        """


@final
class IdealSelectionConfig(SelectionConfig):
    """Sentences with the largest full attention weights (Manakul and Gales, 2021, Equations 4 and 6).

    Scores every word and therefore saves no time: the upper bound for other selections.
    """

    kind: Literal["ideal"] = "ideal"


@final
class IdealSelection(Selection):
    """Full attention weights summed over the words of each sentence."""

    def precompute(self, key: Tensor, mask: Tensor, sentences: Sentences, vectors: Tensor | None) -> dict[str, Tensor]:
        """Keep the keys, their mask and the sentence of each word."""
        del vectors
        return {"key": key, "mask": mask, "membership": sentences.membership(mask, key.dtype)}

    def forward(self, states: Tensor, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Compute log-weights of the sentences."""
        del states
        scores = query @ precomputed["key"].transpose(2, 3) / query.size(-1) ** 0.5
        return sum_over_sentences(scores, precomputed["mask"], precomputed["membership"])


@final
class ApproximateSelectionConfig(SelectionConfig):
    """A neural approximation of the ideal selection (Manakul and Gales, 2021, Equations 7 to 10).

    Keys are sentence vectors, encoded once for all layers; queries are the input of the cross-attention. Scores cost
    O(target * sentences * dim) per layer, in addition to the sentence encoder. The selection is trained by the
    auxiliary loss `selection` only, since the top-k choice of sentences has no gradient.

    Departures from the released code: vectors are split into heads by features, where a reshape mixed sentences; both
    projections are initialised from the layer's word attention only where a model is initialised from another one.
    """

    kind: Literal["approximate"] = "approximate"
    losses: ClassVar[tuple[str, ...]] = ("selection",)
    encoder: Annotated[SentenceEncoderConfig, OneOf("sumpool.core.sentence_encoding")] = (
        AttentionSentenceEncoderConfig()
    )
    """Encoder that represents each sentence as one vector, shared by all layers."""


@final
class ApproximateSelection(Selection):
    """Attention to sentence vectors."""

    def __init__(self, config: ApproximateSelectionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads)
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)

    def precompute(self, key: Tensor, mask: Tensor, sentences: Sentences, vectors: Tensor | None) -> dict[str, Tensor]:
        """Project the sentences once, (batch, heads, sentences, head_dim), and keep their mask."""
        del key, mask
        assert vectors is not None, "a model with this selection has its sentence encoder"
        sentence_key = split_heads(self.key(vectors), self.heads).contiguous()  # else every step would copy
        return {"key": sentence_key, "exists": sentences.mask}

    def forward(self, states: Tensor, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Compute log-weights of the sentences."""
        query = split_heads(self.query(states), self.heads)  # (batch, heads, target, head_dim)
        scores = query @ precomputed["key"].transpose(2, 3) / query.size(-1) ** 0.5
        return sentence_log_softmax(scores, precomputed["exists"])


@final
class ModelFreeSelectionConfig(SelectionConfig):
    """Model-free selection by kernel features (Manakul and Gales, 2021, Appendix D, Equation 19).

    With phi = ELU + 1 instead of the exponential, the attention of a query to a sentence is phi(query) times the sum of
    phi over the keys of its words, which is computed once per document: O(target * sentences * dim). No parameters; in
    the paper's Table 6 it closes a fifth of the gap between random and ideal selection.
    """

    kind: Literal["model_free"] = "model_free"


@final
class ModelFreeSelection(Selection):
    """Kernel attention with key features summed over the words of each sentence."""

    def precompute(self, key: Tensor, mask: Tensor, sentences: Sentences, vectors: Tensor | None) -> dict[str, Tensor]:
        """Sum features over each sentence, (batch, heads, sentences, head_dim), and keep the sentence mask."""
        del vectors
        features = _positive(key)
        membership = sentences.membership(mask, features.dtype).transpose(1, 2)  # (batch, sentences, length)
        return {"features": matmul_exactly(membership[:, None], features), "exists": sentences.mask}

    def forward(self, states: Tensor, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Compute log-weights of the sentences."""
        del states
        features = _positive(query / query.size(-1) ** 0.5)
        scores = matmul_exactly(features, precomputed["features"].mT)  # (batch, heads, target, sentences)
        return sentence_log_softmax(scores.clamp_min(torch.finfo(scores.dtype).tiny).log(), precomputed["exists"])


def _positive(states: Tensor) -> Tensor:
    """Feature map ELU + 1."""
    return F.elu(at_least_float32(states)) + 1


@final
class RandomSelectionConfig(SelectionConfig):
    """Random selection (Manakul and Gales, 2021, Table 2): the baseline of all selections.

    In training each pass draws from torch's generator. In evaluation the score of a sentence is a sine of the input of
    the cross-attention along a direction that is a fixed hash of the sentence's index: pseudo-random for every layer,
    step and hypothesis, and independent of padding, batch mates and run. No parameters.

    Departure from the released code, which also draws in evaluation, from an unseeded generator.
    """

    kind: Literal["random"] = "random"


@final
class RandomSelection(Selection):
    """Random scores, the same for all heads."""

    def precompute(self, key: Tensor, mask: Tensor, sentences: Sentences, vectors: Tensor | None) -> dict[str, Tensor]:
        """Keep the sentence mask."""
        del key, mask, vectors
        return {"exists": sentences.mask}

    def forward(self, states: Tensor, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Compute log-weights of the sentences."""
        del query
        states, exists = at_least_float32(states), precomputed["exists"]
        if self.training:
            scores = torch.rand(*states.shape[:2], exists.size(1), dtype=states.dtype, device=states.device)
        else:
            # Directions depend on the index of the sentence alone, (sentences, dim).
            indices = torch.arange(exists.size(1) * self.dim, device=states.device).view(-1, self.dim)
            directions = (hash_uniform(indices).to(states.dtype) - 0.5) * 12**0.5  # of variance 1
            scores = torch.sin(_FREQUENCY * matmul_exactly(F.normalize(states, dim=-1), directions.T))
        scores = scores[:, None].expand(-1, self.heads, -1, -1)  # (batch, heads, target, sentences)
        return sentence_log_softmax(scores, exists)
