"""Classifier: the encoder of the summariser, a document vector, and a linear map to the classes.

The model of the Long Range Arena (Tay et al., 2021, arXiv:2011.04006) is one with two layers. Departures from its
released codes: a mean is over real tokens, unless `mean_over: source_length` asks for the mean over padding too, and
documents are padded to the longest of their batch instead of a fixed length; dropout acts on embeddings and outputs of
sub-layers only, not on attention weights nor inside the feed-forward layer. Padding, batch mates and their order
never change the result of a document.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, final

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.encoder import Encoder, initialise_embeddings, initialise_linear
from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.output import Scores
from sumpool.core.tokens import Tokens
from sumpool.data.batches import NO_PADDING, Batch, ItemSource, collate
from sumpool.data.shards import Item, Shard
from sumpool.settings import Settings
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, SpecialTokens
from sumpool.tasks.classification.labels import split_pair
from sumpool.text.sentencepiece_tokenizer import Phrases


class ClassifierConfig(Settings):
    """Head of a classifier: document vectors from the encoder's states, and a linear map to the classes."""

    mean_over: Literal["tokens", "source_length"] = "tokens"
    """Divisor of the mean of the states: real tokens, or `source_length` as in released code, which counts padding."""
    towers: int = Field(1, ge=1, le=2)
    """Documents per row. Both are encoded with the same weights, and their vectors a and b become [a, b, a * b, a - b].
    """
    hidden: int = Field(0, ge=0, le=65536)
    """Width of a hidden layer with ReLU before the linear map; 0: none."""


class ClassificationModelConfig(ModelConfig):
    """Encoder of the summariser with a head for classes; the settings of the decoder are not used."""

    classifier: ClassifierConfig | None = None
    """Head of `task: classification`, which replaces decoder and output head."""


@final
class ClassificationModel(nn.Module):
    """Encoder and classification head."""

    def __init__(
        self,
        config: ClassificationModelConfig,
        vocabulary: int,
        classes: int,
        word_starts: Tensor | None = None,
        special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS,
    ) -> None:
        """Build with random weights.

        Args:
            config: The model's settings; decoder and output head are not used.
            vocabulary: Number of tokens, special tokens included.
            classes: Number of classes.
            word_starts: (vocab,), True at tokens that begin a word; every token does by default.
            special_tokens: Ids of the special tokens.
        """
        super().__init__()
        head = config.classifier or ClassifierConfig()
        self.config = config
        self.vocabulary = vocabulary
        self.towers = head.towers
        self.mean_over = head.mean_over
        self.embedding = nn.Embedding(vocabulary, config.dim, padding_idx=special_tokens.pad)
        if word_starts is None:
            word_starts = torch.ones(vocabulary, dtype=torch.bool)
        self.encoder = Encoder(config, self.embedding, word_starts)
        features = config.dim * (4 if head.towers == 2 else 1)
        hidden = (nn.Linear(features, head.hidden), nn.ReLU()) if head.hidden else ()
        self.head = nn.Sequential(*hidden, nn.Linear(head.hidden or features, classes))
        initialise_linear((self.encoder.layers, self.head))
        initialise_embeddings(self.embedding, (self.encoder.embed,), special_tokens.pad)

    def checkpoint_activations(self, on: bool = True) -> None:
        """Store only the inputs of layers for the backward pass, and recompute their activations."""
        self.encoder.checkpoint_activations = on

    def logits(self, ids: Tensor, mask: Tensor, sentences: Tensor) -> Tensor:
        """Return the logits of the classes, (batch, classes).

        Args:
            ids: (batch, length), or (batch, 2, length) for two towers.
            mask: Like `ids`, True at real tokens.
            sentences: Like `ids`, sentence number of each token.

        Raises:
            ValueError: If length exceeds the model's source_length, or there is another number of documents per row.
        """
        return self._classify((ids, mask, sentences, None))[0]

    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        sentences: Tensor,
        target: Tensor,
        phrases: Tensor | None = None,
        smoothing: float = 0.0,
        *,
        lengths: Sequence[int] | None = None,
    ) -> tuple[Scores, dict[str, Tensor], dict[str, Tensor]]:
        """Score labels: their log-probabilities, auxiliary losses of the encoder, and metrics.

        Args:
            ids: As in `logits`.
            mask: As in `logits`.
            sentences: As in `logits`.
            target: (batch, 1), class of each row.
            phrases: Like `ids`, phrase number of each token, the reference of learned boundaries.
            smoothing: Label smoothing, in [0, 1).
            lengths: (batch * towers), real tokens of each document; None reads them from the mask.
        """
        logits, memory = self._classify((ids, mask, sentences, phrases), lengths)
        labels = target.squeeze(1)
        nll = F.cross_entropy(logits, labels, reduction="sum", label_smoothing=smoothing)
        log_prob = logits.detach().log_softmax(1).gather(1, target)
        correct = (logits.argmax(1) == labels).to(logits.dtype)

        def distribution(part: slice) -> Tensor:
            return logits[:, None].log_softmax(2)[:, part]

        scores = Scores(nll, log_prob, counts={"accuracy": correct.sum()}, distribution=distribution)
        return scores, memory.losses, {**memory.metrics, "accuracy": correct.mean()}

    def vectors(self, tokens: Tokens) -> Tensor:
        """Return the mean state of each document, (batch, dim), in at least single precision; 0 without tokens."""
        total = at_least_float32(zero_padding(tokens.states, tokens.mask)).sum(1)
        if self.mean_over == "source_length":
            return total / self.config.source_length
        return total / tokens.mask.sum(1, keepdim=True).clamp(min=1)

    def _classify(
        self, documents: tuple[Tensor, Tensor, Tensor, Tensor | None], lengths: Sequence[int] | None = None
    ) -> tuple[Tensor, Tokens]:
        """Return logits (batch, classes) in at least single precision, and the output of the encoder."""
        ids = documents[0]
        towers = ids.size(1) if ids.dim() == 3 else 1
        if towers != self.towers:
            raise ValueError(f"rows must have as many documents as the model has towers, {self.towers}, got {towers}")
        if ids.size(-1) > self.config.source_length:
            raise ValueError(f"length must be at most source_length = {self.config.source_length}, got {ids.size(-1)}")
        parts = (None if part is None else part.view(-1, ids.size(-1)) for part in documents)
        memory = self.encoder(*parts, lengths=lengths).tokens
        vectors = self.vectors(memory)
        if towers == 2:
            first, second = vectors.unflatten(0, (-1, 2)).unbind(1)
            vectors = torch.cat([first, second, first * second, first - second], 1)
        return at_least_float32(self.head(vectors)), memory


def collate_labelled(
    items: Sequence[Item],
    source_length: int,
    target_length: int,
    teacher: Phrases | None,
    special_tokens: SpecialTokens,
) -> Batch:
    """Truncate documents and pad them to the longest one; the targets are classes.

    Args:
        items: Documents or pairs, all or none of them with a class as their target.
        source_length: Maximum tokens of a document.
        target_length: Not used.
        teacher: Phrase model that supervises boundaries.
        special_tokens: Ids of the padding and EOS tokens.
    """
    del target_length
    parts = [part for item in items for part in split_pair(item, special_tokens.pad)]
    towers = len(parts) // len(items)
    batch = collate([replace(part, target=None) for part in parts], source_length, 1, teacher, special_tokens)
    classes = [int(item.target[0]) for item in items if item.target is not None]

    def by_row(part: Tensor) -> Tensor:
        return part if towers == 1 else part.unflatten(0, (-1, towers))  # (batch, towers, length)

    return Batch(
        ids=by_row(batch.ids),
        mask=by_row(batch.mask),
        sentences=by_row(batch.sentences),
        target=torch.tensor(classes)[:, None] if classes else None,
        documents=tuple(item.id for item in items),
        phrases=None if batch.phrases is None else by_row(batch.phrases),
        pad=NO_PADDING,
        lengths=batch.lengths,
    )


class Pairs:
    """Sequence of the pairs of a split; the length of a pair is twice that of its longer document, as in a batch."""

    def __init__(self, shard: ItemSource, pad: int) -> None:
        assert isinstance(shard, Shard), "pairs are stored in a shard"
        self._shard = shard
        first = shard.first_place(pad)
        self.lengths = 2 * np.maximum(first, shard.lengths - first - 1)

    def __len__(self) -> int:
        return len(self._shard)

    def __getitem__(self, index: int) -> Item:
        return self._shard[index]
