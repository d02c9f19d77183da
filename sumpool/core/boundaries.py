"""Boundary predictors: where segments end, for segment pooling."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.numerics import at_least_float32, hash_uniform
from sumpool.core.tokens import Tokens
from sumpool.settings import VariantSettings

_MAX_LOGITS = 1 << 22
"""Logits of the language model of entropy boundaries per chunk of tokens: 16 MiB in single precision."""
_CONTEXT = 3
"""Its context in tokens, beside the current one."""
_FEATURES = 64
"""Features of its embedding."""


class BoundariesConfig(VariantSettings):
    """Settings of one boundary predictor."""

    losses: ClassVar[tuple[str, ...]] = ()
    """Names of the auxiliary losses that train it."""
    requires_phrases: ClassVar[bool] = False
    """Whether training needs the phrases of the data (`data.phrases`)."""
    supervised: ClassVar[bool] = False
    """Whether targets of the boundaries are needed in training."""

    @property
    def causal(self) -> bool:
        """Whether the predictor of a language model decides on each token without later ones."""
        return True

    def build(self, embedding: nn.Embedding, separators: Tensor | None = None, seed: int | None = None) -> "Boundaries":
        """Build the predictor.

        Args:
            embedding: Token embedding; gives the vocabulary size and the number of features.
            separators: (vocab,), True at tokens that end a word, such as a space, for a language model: its predictor
                decides on each token from its state, id and index alone. None for an encoder.
            seed: Seed of random decisions in evaluation.
        """
        predictor: Boundaries = self.variant_class(self, embedding, separators, seed)
        return predictor


@dataclass(frozen=True)
class Segmentation:
    """Segment ends of a batch.

    Attributes:
        ends: (batch, length) float, 1 at the last token of a segment, else 0, possibly with a gradient; undefined at
            padding. The last real token of a document always ends a segment, whatever its value.
        losses: Auxiliary losses by name, scalars, each a mean over the documents.
        spike_loss: Computes the loss `boundaries` from the entropy of the model's predictions, (batch, length), where
            the predictor learns from it.
    """

    ends: Tensor
    losses: dict[str, Tensor] = field(default_factory=dict)
    spike_loss: Callable[[Tensor], Tensor] | None = None


class Boundaries(nn.Module, ABC):
    """Predict the segment ends of documents.

    Attributes:
        config: Settings of the variant.
        separators: (vocab,), True at tokens that end a word, in a language model; None in an encoder.
        seed: Seed of random decisions in evaluation.
    """

    separators: Tensor | None

    def __init__(
        self,
        config: BoundariesConfig,
        embedding: nn.Embedding,
        separators: Tensor | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__()
        del embedding
        self.config = config
        self.seed = seed
        self.register_buffer("separators", separators, persistent=False)

    @abstractmethod
    def forward(self, tokens: Tokens) -> Segmentation:
        """Predict the segment ends (batch, length)."""


def run_ends(indices: Tensor, mask: Tensor) -> Tensor:
    """True at the last token of each run of equal indices, (batch, length).

    Args:
        indices: (batch, length), such as sentence indices; any value at padding.
        mask: (batch, length), True at real tokens.
    """
    continues = (indices[:, 1:] == indices[:, :-1]) & mask[:, 1:]
    return ~F.pad(continues, (0, 1))


def document_mean(values: Tensor, counted: Tensor) -> Tensor:
    """Mean over the counted tokens of each document, then over the documents; 0 for a document without any.

    Args:
        values: (batch, length), any value where `counted` is False.
        counted: (batch, length).

    Returns:
        A scalar in at least single precision.
    """
    total = at_least_float32(values).masked_fill(~counted, 0.0).sum(1)
    return (total / counted.sum(1).clamp(min=1)).mean()


@final
class Predictor(nn.Module):
    """Logit of a segment end for each token, from its state alone: linear, GELU, linear (Nawrot et al.)."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.widen = nn.Linear(dim, hidden)
        self.decide = nn.Linear(hidden, 1)

    def forward(self, tokens: Tokens) -> Tensor:
        """Logits (batch, length), finite everywhere; positive where an end is more likely than not."""
        hidden = F.gelu(self.widen(zero_padding(tokens.states, tokens.mask)))
        return at_least_float32(self.decide(hidden).squeeze(-1))


class LearnedBoundaries(Boundaries):
    """Segment ends by a network that learns them."""

    def __init__(
        self,
        config: "GumbelBoundariesConfig | UnigramBoundariesConfig | EntropyBoundariesConfig",
        embedding: nn.Embedding,
        separators: Tensor | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(config, embedding, separators, seed)
        self.predictor = Predictor(embedding.embedding_dim, config.hidden)


def boundary_loss(logits: Tensor, ends: Tensor, mask: Tensor) -> Tensor:
    """Binary cross-entropy of the logits against target ends, a scalar in nats per token.

    Args:
        logits: (batch, length), finite everywhere.
        ends: (batch, length), True at the target ends.
        mask: (batch, length), True at tokens that count.
    """
    return document_mean(F.binary_cross_entropy_with_logits(logits, ends.to(logits.dtype), reduction="none"), mask)


def uniform_draws(tokens: Tokens, seed: int | None) -> Tensor:
    """Draw a number in [0, 1) for each token, (batch, length), independent of padding and batch mates.

    Args:
        tokens: Tokens; the draw depends on index and id.
        seed: The same seed gives the same draws; None takes a new seed from torch's CPU generator.
    """
    if seed is None:
        seed = int(torch.randint(2**31, ()).item())
    mixed = tokens.indices * 0x9E3779B1 + tokens.ids * 0x85EBCA77 + (seed * 0xC2B2AE3D & 0xFFFFFFFF)
    return hash_uniform(mixed & 0xFFFFFFFF)


@final
class FixedBoundariesConfig(BoundariesConfig):
    """Fixed-size segments (Nawrot et al., the fixed baseline of section 3), at no cost.

    Tokens are counted within each document; the released code counts through the whole stream of text, so that its
    segments begin anywhere in a document.
    """

    kind: Literal["fixed"] = "fixed"
    size: int = Field(4, ge=1, le=10_000_000)
    """Tokens per segment; the last segment of a document may be shorter."""


@final
class FixedBoundaries(Boundaries):
    """Segment ends at multiples of a fixed size."""

    config: FixedBoundariesConfig

    def forward(self, tokens: Tokens) -> Segmentation:
        """Mark the segment ends (batch, length)."""
        ends = (tokens.indices + 1) % self.config.size == 0
        return Segmentation(ends.to(tokens.states.dtype))


@final
class WhitespaceBoundariesConfig(BoundariesConfig):
    """Whitespace boundaries (Nawrot et al., section 2.3): one segment per word, at no cost.

    A segment ends where the next token begins a word. In the paper's character sequences a space stands there;
    SentencePiece tokens carry it as a prefix. A language model does not know the next token: its segments end at the
    space itself, and at a token with a prefix, the first of its word.
    """

    kind: Literal["whitespace"] = "whitespace"


@final
class WhitespaceBoundaries(Boundaries):
    """Segment ends at word ends, in a language model at tokens that end a word."""

    def forward(self, tokens: Tokens) -> Segmentation:
        """Mark the segment ends (batch, length)."""
        ends = run_ends(tokens.words, tokens.mask) if self.separators is None else self.separators[tokens.ids]
        return Segmentation(ends.to(tokens.states.dtype))


@final
class SentenceBoundariesConfig(BoundariesConfig):
    """Sentence boundaries: one segment per sentence, at no cost.

    The counterpart of whitespace boundaries (Nawrot et al., section 2.3) on the level of sentences; not in the paper,
    whose segments are parts of words.
    """

    kind: Literal["sentence"] = "sentence"

    @property
    def causal(self) -> bool:
        """False: a sentence's last token is known by the next."""
        return False


@final
class SentenceBoundaries(Boundaries):
    """Segment ends at sentence ends."""

    def forward(self, tokens: Tokens) -> Segmentation:
        """Mark the segment ends (batch, length)."""
        return Segmentation(run_ends(tokens.sentences, tokens.mask).to(tokens.states.dtype))


@final
class NoneBoundariesConfig(BoundariesConfig):
    """No boundaries: a document is one segment.

    In a language model no segment ends, so that the middle layers see the null vector only: the lower bound of what
    shortening can give, at the cost of the layers around it.
    """

    kind: Literal["none"] = "none"


@final
class NoneBoundaries(Boundaries):
    """No segment ends."""

    def forward(self, tokens: Tokens) -> Segmentation:
        """Return zeros (batch, length)."""
        return Segmentation(torch.zeros_like(tokens.states[..., 0]))


@final
class RandomBoundariesConfig(BoundariesConfig):
    """Random boundaries: each token ends a segment with a fixed probability.

    Baseline for learned boundaries, at no cost. In training every forward pass draws anew; in evaluation the draw is a
    hash of a seed, the token's id, and its index in the document: independent of padding, batch mates and earlier runs.
    """

    kind: Literal["random"] = "random"
    rate: float = Field(0.2, gt=0, lt=1)
    """Probability that a token ends a segment."""


@final
class RandomBoundaries(Boundaries):
    """Segment ends drawn independently."""

    config: RandomBoundariesConfig

    def forward(self, tokens: Tokens) -> Segmentation:
        """Draw the segment ends (batch, length)."""
        draws = uniform_draws(tokens, None if self.training else self.seed or 0)
        return Segmentation((draws < self.config.rate).to(tokens.states.dtype))


@final
class GumbelBoundariesConfig(BoundariesConfig):
    """Gumbel-sigmoid boundaries (Nawrot et al., section 2.3, "Gumbel-Sigmoid"), learned from the task loss.

    A small network gives each token the logit of a relaxed Bernoulli variable: a segment ends there or not. The forward
    pass uses the hard sample and the backward pass the relaxed one (straight-through), so that the summarisation loss
    trains the network; a binomial prior controls the number of segments. Cost: O(length * dim * hidden).

    Departures: by default inference is deterministic and ends a segment where the probability exceeds one half; the
    released code samples in evaluation too (`inference: sample`). If no probability reaches one half, the whole
    document becomes one vector; `inference: expected` ends as many segments as sampling would on average. The loss of
    the prior counts real tokens only.
    """

    kind: Literal["gumbel"] = "gumbel"
    losses: ClassVar[tuple[str, ...]] = ("boundaries",)
    rate: float = Field(0.2, gt=0, lt=1)
    """Prior probability that a token ends a segment, enforced by the loss `boundaries`."""
    hidden: int = Field(2048, ge=1, le=65_536)
    """Hidden width of the boundary predictor."""
    temperature: float = Field(0.5, ge=0.01, le=100)
    """Temperature of the relaxed sample, whose gradient is used."""
    inference: Literal["hard", "expected", "sample"] = "hard"
    """Decision after training: hard ends a segment where the probability exceeds one half, expected at the most likely
    tokens, as many as the probabilities sum to, and sample draws as in training."""

    @property
    def causal(self) -> bool:
        """False for expected decisions, which compare all tokens of a document."""
        return self.inference != "expected"


@final
class GumbelBoundaries(LearnedBoundaries):
    """Segment ends sampled from learned probabilities."""

    config: GumbelBoundariesConfig

    def forward(self, tokens: Tokens) -> Segmentation:
        """Predict the segment ends (batch, length), with the loss of the prior."""
        logits = self.predictor(tokens)
        if not self.training and self.config.inference == "expected":
            return Segmentation(most_likely_ends(logits, tokens.mask).to(logits.dtype))
        if self.training or self.config.inference == "sample":
            draws = uniform_draws(tokens, None if self.training else self.seed).to(logits.dtype)
            logits = logits + draws.logit(eps=1e-6)  # logistic noise: the difference of two Gumbel samples
        soft = (logits / self.config.temperature).sigmoid()
        ends = (logits > 0).to(soft.dtype) + soft - soft.detach()
        return Segmentation(ends, {"boundaries": count_nll(ends, tokens.mask, self.config.rate)})


def most_likely_ends(logits: Tensor, mask: Tensor) -> Tensor:
    """True at the most likely ends, as many as the probabilities of a document sum to: (batch, length).

    Args:
        logits: (batch, length), finite everywhere; of equal logits the first is taken first.
        mask: (batch, length), True at real tokens.
    """
    expected = logits.sigmoid().masked_fill(~mask, 0.0).sum(1, keepdim=True).round()
    order = logits.masked_fill(~mask, -math.inf).argsort(dim=1, descending=True, stable=True)
    return order.argsort(dim=1) < expected


def count_nll(ends: Tensor, mask: Tensor, rate: float) -> Tensor:
    """Negative log-likelihood of the number of ends, -log Binomial(ends; length, rate) / length, a mean over documents.

    Args:
        ends: (batch, length), 0 or 1, finite everywhere.
        mask: (batch, length), True at real tokens.
        rate: Prior probability of an end.

    Returns:
        A scalar, nats per token; a document without tokens counts as 0.
    """
    length = mask.sum(1).to(ends.dtype)
    count = ends.masked_fill(~mask, 0.0).sum(1)
    ways = (length + 1).lgamma() - (count + 1).lgamma() - (length - count + 1).lgamma()
    log_prob = ways + count * math.log(rate) + (length - count) * math.log1p(-rate)
    return (-log_prob / length.clamp(min=1)).mean()


@final
class UnigramBoundariesConfig(BoundariesConfig):
    """Unigram boundaries (Nawrot et al., section 2.3, "Segmenting with subword tokenizers").

    A unigram model segments the training documents into phrases (`data.phrases`, see `Phrases`); a small
    network learns to predict the phrase ends from the states, and is used alone after training. Cost: O(length * dim *
    hidden).

    Departures: cross-entropy is computed on logits. The released code applies it to probabilities as if these were
    logits, so that it ends a segment only where the target probability exceeds 0.62. Phrases consist of the model's
    tokens instead of characters. A language model may have either.
    """

    kind: Literal["unigram"] = "unigram"
    supervised: ClassVar[bool] = True
    losses: ClassVar[tuple[str, ...]] = ("boundaries",)
    requires_phrases: ClassVar[bool] = True
    hidden: int = Field(2048, ge=1, le=65_536)
    """Hidden width of the boundary predictor, trained by the loss `boundaries`."""


@final
class UnigramBoundaries(LearnedBoundaries):
    """Segment ends at predicted phrase ends."""

    def forward(self, tokens: Tokens) -> Segmentation:
        """Predict the segment ends (batch, length), with a loss where phrases are given."""
        logits = self.predictor(tokens)
        ends = (logits > 0).to(logits.dtype)
        if tokens.phrases is None:
            return Segmentation(ends)
        # Texts of a language model go on: their last token has no target.
        counted = tokens.mask if self.separators is None else F.pad(tokens.mask[:, 1:], (0, 1))
        loss = boundary_loss(logits, run_ends(tokens.phrases, tokens.mask), counted)
        return Segmentation(ends, {"boundaries": loss})


@final
class EntropyBoundariesConfig(BoundariesConfig):
    """Entropy-spike boundaries (Nawrot et al., section 2.3, "Entropy spikes"): ends where text is unpredictable.

    A token ends a segment if its next-token entropy exceeds that of each preceding token in a window. A small network
    learns to predict these spikes from the states, and is used alone after training. Cost: O(length * dim * hidden); in
    training also O(length * features * vocab), in chunks that bound the memory of the logits.

    The predictor of a language model (`task: language_modeling`) learns from the entropy of that model's predictions,
    as in the paper; the loss `language_model` belongs to encoders.

    Departures: bidirectional encoder states already contain the next token, so that the entropy is that of a separate
    small causal language model, trained at the same time. As in the released code a token is compared with preceding
    tokens only (the paper speaks of a window); unlike the released code, cross-entropy is computed on logits.
    """

    kind: Literal["entropy"] = "entropy"
    supervised: ClassVar[bool] = True
    losses: ClassVar[tuple[str, ...]] = ("boundaries", "language_model")
    window: int = Field(2, ge=1, le=1_000_000)
    """Preceding tokens whose entropy a spike must exceed."""
    hidden: int = Field(2048, ge=1, le=65_536)
    """Hidden width of the boundary predictor, trained by the loss `boundaries`."""


@final
class EntropyBoundaries(LearnedBoundaries):
    """Segment ends at predicted entropy spikes."""

    config: EntropyBoundariesConfig

    def __init__(
        self,
        config: EntropyBoundariesConfig,
        embedding: nn.Embedding,
        separators: Tensor | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(config, embedding, separators, seed)
        self.language_model: ConvolutionalLanguageModel | None = None
        if separators is None:  # a separate embedding of the same vocabulary
            self.language_model = ConvolutionalLanguageModel(embedding.num_embeddings, _FEATURES, _CONTEXT)

    def forward(self, tokens: Tokens) -> Segmentation:
        """Predict the segment ends (batch, length); in training with the losses, or the function that computes one."""
        logits = self.predictor(tokens)
        ends = (logits > 0).to(logits.dtype)

        def spike_loss(entropy: Tensor) -> Tensor:
            return boundary_loss(logits, entropy_spikes(entropy, self.config.window), tokens.mask)

        if self.language_model is None:
            return Segmentation(ends, spike_loss=spike_loss)
        if not self.training:
            return Segmentation(ends)
        nll, entropy = self.language_model(tokens.ids)
        has_successor = F.pad(tokens.mask[:, 1:], (0, 1))
        return Segmentation(
            ends, {"boundaries": spike_loss(entropy), "language_model": document_mean(nll, has_successor)}
        )


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
