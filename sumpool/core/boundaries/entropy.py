"""Boundaries where the text becomes hard to foresee (Nawrot et al., section 2.3, "Entropy spikes").

A token whose successor is less certain than those of the tokens before it ends a segment. A small network learns to
find such spikes, and decides alone once it is trained. Cost: O(length * dim * hidden); in training also
O(length * features * vocab), in pieces, so that memory holds few of the rows of vocab numbers at a time.

Departures: the encoder sees the whole document, so that its states cannot be uncertain of the next token; the entropy
is that of a small causal language model beside it, which learns meanwhile. As in the released code a token is compared
with those before it only (the paper speaks of a window); unlike it, cross-entropy is taken on logits.
"""

from typing import ClassVar, Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from sumpool.core.boundaries._base import Boundaries, BoundariesConfig, Segmentation, document_mean
from sumpool.core.boundaries._predictor import Predictor, taught
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.tokens import Tokens

_NUMBERS_AT_ONCE = 1 << 22
"""Numbers of a piece of the logits: 16 MiB of them in single precision."""


@final
class EntropyBoundariesConfig(BoundariesConfig):
    """Settings of boundaries at entropy spikes."""

    kind: Literal["entropy"] = "entropy"
    losses: ClassVar[tuple[str, ...]] = ("boundaries", "language_model")
    window: int = Field(2, ge=1)
    """Tokens before a spike that have a lower entropy."""
    hidden: int = Field(2048, ge=1)
    """Width of the network that decides; the loss `boundaries` teaches it."""
    context: int = Field(3, ge=0)
    """Tokens that the language model sees before the last one; the loss `language_model` teaches it."""
    features: int = Field(64, ge=1)
    """Features of the language model."""

    def build(self, embedding: nn.Embedding) -> "EntropyBoundaries":
        """Build it; the language model has the vocabulary of the embedding, but vectors of its own."""
        return EntropyBoundaries(self, embedding)


@final
class EntropyBoundaries(Boundaries):
    """Ends a segment where it takes the next token to be uncertain."""

    def __init__(self, config: EntropyBoundariesConfig, embedding: nn.Embedding) -> None:
        super().__init__()
        self.window = config.window
        self.predictor = Predictor(embedding.embedding_dim, config.hidden)
        self.language_model = LanguageModel(embedding.num_embeddings, config.features, config.context)

    def forward(self, tokens: Tokens) -> Segmentation:
        """Cut (batch, length, dim) into segments."""
        logits = self.predictor(tokens)
        ends = (logits > 0).to(logits.dtype)
        if not self.training:
            return Segmentation(ends)
        nll, entropy = self.language_model(tokens.ids)
        followed = F.pad(tokens.mask[:, 1:], (0, 1))
        losses = {
            "boundaries": taught(logits, spikes(entropy, self.window), tokens.mask),
            "language_model": document_mean(nll, followed),
        }
        return Segmentation(ends, losses)


def spikes(entropy: Tensor, window: int) -> Tensor:
    """Mark each token (batch, length) whose entropy is above that of each of the `window` tokens before it.

    The first token always is a spike, and those after it are compared with as many as there are.
    """
    before = F.pad(entropy, (window, 0), value=-torch.inf).unfold(1, window, 1)[:, :-1]  # (batch, length, window)
    return entropy > before.amax(2)


@final
class LanguageModel(nn.Module):
    """Foresees each next token from the last few: embedding, causal convolution, GELU, linear."""

    def __init__(self, vocabulary: int, features: int, context: int) -> None:
        super().__init__()
        self.context = context
        self.embedding = nn.Embedding(vocabulary, features)
        self.mix = nn.Conv1d(features, features, context + 1)
        self.foresee = nn.Linear(features, vocabulary)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Read tokens.

        Args:
            ids: (batch, length).

        Returns:
            Of each token the surprise at its successor, 0 nats at the last one of a row, and, without gradient, the
            entropy of what was expected; both (batch, length).
        """
        embedded = self.embedding(ids).transpose(1, 2)  # (batch, features, length)
        mixed = F.gelu(self.mix(F.pad(embedded, (self.context, 0)))).transpose(1, 2)  # (batch, length, features)
        rows = max(1, _NUMBERS_AT_ONCE // self.foresee.out_features)
        successors = F.pad(ids[:, 1:], (0, 1))
        pieces = zip(mixed.flatten(0, 1).split(rows), successors.flatten().split(rows), strict=True)
        surprises, entropies = zip(
            *(checkpoint(self._judge, *piece, use_reentrant=False, preserve_rng_state=False) for piece in pieces),
            strict=True,
        )
        nll = torch.cat(surprises).view(ids.shape)
        return F.pad(nll[:, :-1], (0, 1)), torch.cat(entropies).view(ids.shape)

    def _judge(self, mixed: Tensor, successors: Tensor) -> tuple[Tensor, Tensor]:
        """Judge rows (rows, features): surprise at the successors, and entropy, both (rows,)."""
        log_probs = at_least_float32(self.foresee(mixed)).log_softmax(-1)  # (rows, vocab)
        nll = -log_probs.gather(1, successors[:, None]).squeeze(1)
        expected = log_probs.detach()
        return nll, -(expected.exp() * expected).sum(-1)
