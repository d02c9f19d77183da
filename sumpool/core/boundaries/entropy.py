"""Entropy-spike boundaries (Nawrot et al., section 2.3, "Entropy spikes"): segments end where text is unpredictable.

A token ends a segment if its next-token entropy exceeds that of each preceding token in a window. A small network
learns to predict these spikes from the states, and is used alone after training. Cost: O(length * dim * hidden); in
training also O(length * features * vocab), in chunks that bound the memory of the logits.

The predictor of a language model (`task: language_modeling`) learns from the entropy of that model's predictions, as in
the paper; the loss `language_model` belongs to encoders.

Departures: bidirectional encoder states already contain the next token, so that the entropy is that of a separate
small causal language model, trained at the same time. As in the released code a token is compared with preceding
tokens only (the paper speaks of a window); unlike the released code, cross-entropy is computed on logits.
"""

from typing import ClassVar, Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from sumpool.core.boundaries._base import (
    Boundaries,
    BoundariesConfig,
    Predictor,
    Segmentation,
    boundary_loss,
    document_mean,
)
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.tokens import Tokens

_MAX_LOGITS = 1 << 22
"""Logits per chunk of tokens: 16 MiB in single precision."""
_CONTEXT = 3
"""Context of the language model of an encoder in tokens, beside the current one."""
_FEATURES = 64
"""Features of its embedding."""


@final
class EntropyBoundariesConfig(BoundariesConfig):
    """Settings of entropy-spike boundaries."""

    kind: Literal["entropy"] = "entropy"
    supervised: ClassVar[bool] = True
    losses: ClassVar[tuple[str, ...]] = ("boundaries", "language_model")
    window: int = Field(2, ge=1, le=1_000_000)
    """Preceding tokens whose entropy a spike must exceed."""
    hidden: int = Field(2048, ge=1, le=65_536)
    """Hidden width of the boundary predictor, trained by the loss `boundaries`."""

    def build(self, embedding: nn.Embedding) -> "EntropyBoundaries":
        """Build the predictor and its language model, which has the same vocabulary but a separate embedding."""
        return EntropyBoundaries(self, embedding)

    def build_causal(self, embedding: nn.Embedding, separators: Tensor, seed: int) -> "SpikeBoundaries":
        """Build the predictor of a language model, which learns from the entropy of that model's predictions."""
        del separators, seed
        return SpikeBoundaries(self, embedding.embedding_dim)


@final
class EntropyBoundaries(Boundaries):
    """Segment ends at predicted entropy spikes."""

    def __init__(self, config: EntropyBoundariesConfig, embedding: nn.Embedding) -> None:
        super().__init__()
        self.window = config.window
        self.predictor = Predictor(embedding.embedding_dim, config.hidden)
        self.language_model = ConvolutionalLanguageModel(embedding.num_embeddings, _FEATURES, _CONTEXT)

    def forward(self, tokens: Tokens) -> Segmentation:
        """Predict the segment ends (batch, length); in training also compute the losses."""
        logits = self.predictor(tokens)
        ends = (logits > 0).to(logits.dtype)
        if not self.training:
            return Segmentation(ends)
        nll, entropy = self.language_model(tokens.ids)
        has_successor = F.pad(tokens.mask[:, 1:], (0, 1))
        spikes = entropy_spikes(entropy, self.window)
        losses = {
            "boundaries": boundary_loss(logits, spikes, tokens.mask),
            "language_model": document_mean(nll, has_successor),
        }
        return Segmentation(ends, losses)


@final
class SpikeBoundaries(Boundaries):
    """Segment ends at predicted spikes of the entropy of a language model's predictions."""

    def __init__(self, config: EntropyBoundariesConfig, dim: int) -> None:
        super().__init__()
        self.window = config.window
        self.predictor = Predictor(dim, config.hidden)

    def forward(self, tokens: Tokens) -> Segmentation:
        """Predict the segment ends (batch, length); the loss needs the entropy of the predictions."""
        logits = self.predictor(tokens)

        def spike_loss(entropy: Tensor) -> Tensor:
            return boundary_loss(logits, entropy_spikes(entropy, self.window), tokens.mask)

        return Segmentation((logits > 0).to(logits.dtype), spike_loss=spike_loss)


def entropy_spikes(entropy: Tensor, window: int) -> Tensor:
    """True at tokens (batch, length) whose entropy exceeds that of each of the `window` preceding tokens.

    The first token always is a spike; the tokens after it are compared with as many as there are.
    """
    before = F.pad(entropy, (window, 0), value=-torch.inf).unfold(1, window, 1)[:, :-1]  # (batch, length, window)
    return entropy > before.amax(2)


@final
class ConvolutionalLanguageModel(nn.Module):
    """Causal language model over a few tokens: embedding, causal convolution, GELU, linear."""

    def __init__(self, vocabulary: int, features: int, context: int) -> None:
        super().__init__()
        self.context = context
        self.embedding = nn.Embedding(vocabulary, features)
        self.mix = nn.Conv1d(features, features, context + 1)
        self.out = nn.Linear(features, vocabulary)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Predict each next token.

        Args:
            ids: (batch, length).

        Returns:
            Negative log-likelihood of the successor of each token, 0 at the last one of a row, and, without gradient,
            the entropy of the predicted distribution; both (batch, length), in nats.
        """
        embedded = self.embedding(ids).transpose(1, 2)  # (batch, features, length)
        mixed = F.gelu(self.mix(F.pad(embedded, (self.context, 0)))).transpose(1, 2)  # (batch, length, features)
        rows = max(1, _MAX_LOGITS // self.out.out_features)
        successors = F.pad(ids[:, 1:], (0, 1))
        chunks = zip(mixed.flatten(0, 1).split(rows), successors.flatten().split(rows), strict=True)
        nlls, entropies = zip(
            *(checkpoint(self._evaluate, *chunk, use_reentrant=False, preserve_rng_state=False) for chunk in chunks),
            strict=True,
        )
        nll = torch.cat(nlls).view(ids.shape)
        return F.pad(nll[:, :-1], (0, 1)), torch.cat(entropies).view(ids.shape)

    def _evaluate(self, mixed: Tensor, successors: Tensor) -> tuple[Tensor, Tensor]:
        """Negative log-likelihood of the successors and entropy, both (rows,), for rows (rows, features)."""
        log_probs = at_least_float32(self.out(mixed)).log_softmax(-1)  # (rows, vocab)
        nll = -log_probs.gather(1, successors[:, None]).squeeze(1)
        detached = log_probs.detach()
        return nll, -(detached.exp() * detached).sum(-1)
