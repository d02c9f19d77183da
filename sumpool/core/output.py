"""Output heads: decoder states, and source tokens to copy -> log-probabilities."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.kernels import pointer_log_probs
from sumpool.core.nn.layers import TiedProjection
from sumpool.core.nn.masking import pad_id, zero_padding
from sumpool.core.nn.numerics import at_least_float32, matmul_exactly
from sumpool.core.nn.states import Mixtures, compose
from sumpool.core.tokens import Tokens
from sumpool.settings import VariantSettings

Distribution = Callable[[slice], Tensor]
"""Computes the log-probabilities of all tokens at a range of target tokens, (batch, range, vocab), with gradients."""

MATCH = 6.0
"""Attention logit of one matching preceding token at the start of training; two matches outweigh thousands without."""


class OutputConfig(VariantSettings):
    """Settings of one output head."""

    def build(self, embedding: nn.Embedding) -> "Output":
        """Build the head; it shares the embedding matrix of the vocabulary."""
        head: Output = self.variant_class(self, embedding)
        return head


@dataclass(frozen=True)
class Scores:
    """Log-probabilities and loss of references.

    Attributes:
        nll: Scalar, cross-entropy summed over the real tokens of all references, in nats; the training loss.
        log_prob: (batch, target), log-probability of each reference token, in nats, without a gradient; 0 at padding.
        losses: Auxiliary losses of the decoder by name, scalars.
        metrics: Detached scalar metrics of the decoder by name.
        counts: Sums over the references by name, such as correct labels; a validation divides them by its tokens.
        distribution: Log-probabilities of all tokens instead of the references, computed on call.
    """

    nll: Tensor
    log_prob: Tensor
    losses: dict[str, Tensor] = field(default_factory=dict)
    metrics: dict[str, Tensor] = field(default_factory=dict)
    counts: dict[str, Tensor] = field(default_factory=dict)
    distribution: Distribution | None = None


class Output(nn.Module, ABC):
    """Maps decoder states to log-probabilities over the vocabulary.

    `history` holds the token before each output and the one before that, (batch, target, 2), padding where there is
    none; pointer networks match both with the source.
    """

    def __init__(self, config: OutputConfig, embedding: nn.Embedding) -> None:
        super().__init__()
        self.config = config
        self.embedding = embedding
        self.pad = pad_id(embedding)
        self.vocabulary = TiedProjection(embedding)

    @abstractmethod
    def project_source(self, states: Tensor) -> Tensor:
        """Project source states before the first pooling, each by itself.

        Args:
            states: (..., dim), finite everywhere.

        Returns:
            (..., features); zero features where the head does not use the source.
        """

    @abstractmethod
    def precompute(self, source: Tokens, memory: Tokens, mixtures: Mixtures) -> dict[str, Tensor]:
        """Compute what the head needs of a document once for all decoding steps.

        Args:
            source: States before the first pooling as `project_source` returns them; finite everywhere.
            memory: Output of the encoder, after every pooling.
            mixtures: Weights of each pooling, first to last.

        Returns:
            Tensors, batch first, shared by all beams of a document.
        """

    @abstractmethod
    def forward(self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Return log-probabilities of all tokens: (batch, target, dim) -> (batch, target, vocab)."""

    @abstractmethod
    def score(
        self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor], target: Tensor, smoothing: float = 0.0
    ) -> Scores:
        """Return log-probabilities of the references `target` (batch, target), without storing those of all tokens.

        With label smoothing the reference distribution is a mixture of the true token and, with weight `smoothing`, the
        uniform distribution over the vocabulary.
        """

    def copy_posterior(
        self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor], target: Tensor
    ) -> Tensor | None:
        """Compute the probability that each reference token is a copy of each source token, given that it was output.

        Returns:
            (batch, target, length), in at least single precision; the rest of 1 is the probability that the token was
            generated from the vocabulary. None for heads that cannot copy, the default.
        """
        del states, history, precomputed, target
        return None


@final
class PointerOutputConfig(OutputConfig):
    """Pointer-generator network whose keys contain the preceding tokens (after See et al., 2017).

    p(y) = g * p_vocab(y) + (1 - g) * sum of a_i over the source positions i that hold y. The attention logits a have
    three parts: content (encoder state times decoder state), and the two tokens *preceding* a source position times the
    last two outputs, through the same matrices on both sides. From the first training step on, the head therefore
    points to the position after a source bigram that has just been generated, and copies spans long before content is
    learnt. None of the five papers has this head.

    Cost: O(target * length * key) beside O(target * vocab * dim); no tensor has size target * length * vocab.
    """

    kind: Literal["pointer"] = "pointer"
    key: int = Field(128, ge=1, le=65_536)
    """Features of the content part of queries and keys."""
    preceding: int = Field(64, ge=1, le=65_536)
    """Features of queries and keys for each of the two preceding tokens."""
    copies: Literal["source", "memory"] = "source"
    """What the pointer attends to: all source tokens, or the pooled states of the memory, each of which represents its
    source tokens by their pooling weights."""


@final
class PointerOutput(Output):
    """Generates from the vocabulary or copies from the source."""

    config: PointerOutputConfig

    def __init__(self, config: PointerOutputConfig, embedding: nn.Embedding) -> None:
        super().__init__(config, embedding)
        dim, key, preceding = embedding.embedding_dim, config.key, config.preceding
        self.norm = nn.LayerNorm(dim)  # pre-norm layers leave their sums unnormalised
        self.query = nn.Linear(dim, key)
        self.key = nn.Linear(dim, key, bias=False)
        self.preceding = nn.ModuleList(nn.Linear(dim, preceding, bias=False) for _ in range(2))
        self.gate = nn.Linear(dim, 1)
        # Attention points behind matching tokens, given embeddings of unit length.
        nn.init.xavier_uniform_(self.query.weight)
        nn.init.xavier_uniform_(self.key.weight)
        for part in self.preceding:
            assert isinstance(part, nn.Linear)
            nn.init.normal_(part.weight, std=(MATCH / part.out_features) ** 0.5)

    def project_source(self, states: Tensor) -> Tensor:
        """Return the content part of the keys: (..., dim) -> (..., key)."""
        key: Tensor = self.key(self.norm(states)) / self.key.out_features**0.5
        return key

    def precompute(self, source: Tokens, memory: Tokens, mixtures: Mixtures) -> dict[str, Tensor]:
        """Compute keys (batch, key + 2 * preceding, keys) with their mask and bias, and keep the ids (batch, length).

        The mask is (batch, keys), the bias (batch, 1, keys). Keys are source positions; or states of the memory, whose
        preceding tokens are the weighted mean over their source tokens; `pooling_weights` (batch, keys, length) are
        then kept too. Copies of a token are added up at its first position, (batch, length), which takes less time than
        sums over the vocabulary.
        """
        keys, ids = source, source.ids
        pooling_weights = compose(mixtures, ids.size(1)) if self.config.copies == "memory" else None
        if pooling_weights is not None:
            keys = memory.with_states(self.project_source(zero_padding(memory.states, memory.mask)))
        shifted = [F.pad(ids, (distance, 0), value=self.pad)[:, : ids.size(1)] for distance in (1, 2)]
        preceding = self._project_preceding(torch.stack(shifted, dim=-1))  # (batch, length, 2 * preceding)
        if pooling_weights is not None:
            preceding = pooling_weights.to(preceding.dtype) @ preceding
        # A column per key: a step of eight documents multiplies by 2,048 of them in half the time.
        key = torch.cat([keys.states.mT, preceding.mT], dim=1)
        # Of documents without any key, whose copies have no weight, all are visible: a softmax over nothing is NaN.
        hidden = ~keys.mask & keys.mask.any(1, keepdim=True)
        bias = key.new_zeros(keys.mask.shape).masked_fill_(hidden, -torch.inf)[:, None]
        positions = torch.arange(ids.size(1), device=ids.device).expand_as(ids)
        first = ids.new_full((ids.size(0), self.embedding.num_embeddings), ids.size(1))
        first = first.scatter_reduce_(1, ids, positions, "amin").gather(1, ids)
        precomputed = {"key": key, "bias": bias, "mask": keys.mask, "ids": ids, "first": first}
        return precomputed if pooling_weights is None else {**precomputed, "pooling_weights": pooling_weights}

    @torch.no_grad()  # tokens that occur twice in the source are scattered twice below: gradients would count double
    def forward(self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Return log-probabilities (batch, target, vocab) for decoding, without gradients; `score` has them."""
        generate, copy = self._gate(states, precomputed)
        logits = at_least_float32(self.vocabulary(states))  # (batch, target, vocab)
        query = self._query(states, history)
        if self.config.copies == "source":
            compiled = pointer_log_probs(logits, query, precomputed, generate, copy)
            if compiled is not None:
                return compiled
        log_probs = logits.log_softmax(-1).add_(generate)
        attention = self._attend_to_source(query, precomputed)
        ids = precomputed["ids"][:, None].expand_as(attention)
        first = precomputed["first"][:, None].expand_as(attention)
        copied = torch.zeros_like(attention).scatter_add_(-1, first, attention).gather(-1, first)
        # Only tokens of the source can be copied; most of the vocabulary is not in it.
        generated = log_probs.gather(-1, ids)  # (batch, target, length)
        # Not logaddexp: a CPU computes the last numbers of a tensor, which depend on batch mates, by another formula.
        mixed = copied.mul_(copy.exp()).add_(generated.exp()).log_()
        return log_probs.scatter_(-1, ids, torch.maximum(mixed, generated))  # which may be below the smallest float

    def score(
        self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor], target: Tensor, smoothing: float = 0.0
    ) -> Scores:
        """Score references (batch, target); smoothing applies to the vocabulary's distribution only."""
        from sumpool.core.nn.cross_entropy import cross_entropy  # as summaries have no reference

        generate, copy = (part.squeeze(-1) for part in self._gate(states, precomputed))  # (batch, target) each
        attention = self._attend(self._query(states, history), precomputed)  # (batch, target, keys)
        match = precomputed["ids"][:, None] == target[..., None]  # (batch, target, length)
        weighted = attention
        if "pooling_weights" in precomputed:
            weight = matmul_exactly(match.to(attention.dtype), precomputed["pooling_weights"].transpose(1, 2))
            match = weight > 0  # (batch, target, keys)
            weighted = attention + weight.masked_fill(~match, 1.0).log()
        match = match & precomputed["mask"][:, None]
        copyable = match.any(-1)
        # Without a match, logits are set to zero: the gradient of a logsumexp over nothing is NaN.
        matched = weighted.masked_fill(~match, -torch.inf).masked_fill(~copyable[..., None], 0.0).logsumexp(-1)
        copied = matched - attention.masked_fill(~copyable[..., None], 0.0).logsumexp(-1)  # log-probability as a copy
        # log(g v + c) = log g + log(v + c / g): the vocabulary's probability v never leaves its chunk of logits.
        odds = torch.where(copyable, copy - generate + copied, -torch.inf)
        nll, log_prob = cross_entropy(states, self.embedding.weight, None, target, self.pad, smoothing, odds)
        generate = generate.masked_fill(target == self.pad, 0.0)

        def distribution(part: slice) -> Tensor:
            """Return the same as `forward`, with gradients, in more memory: the mixture is computed for all tokens."""
            generate, copy = self._gate(states[:, part], precomputed)
            attention = self._attend_to_source(self._query(states[:, part], history[:, part]), precomputed)
            logits = at_least_float32(self.vocabulary(states[:, part]))
            log_probs = generate + logits.log_softmax(-1)  # (batch, range, vocab)
            ids = precomputed["ids"][:, None].expand_as(attention)
            copied = torch.zeros_like(log_probs).scatter_add(-1, ids, attention)
            is_copyable = copied > 0
            copied = (copy + copied.masked_fill(~is_copyable, 1.0).log()).masked_fill(~is_copyable, -torch.inf)
            return torch.logaddexp(log_probs, copied)

        return Scores(nll - (1 - smoothing) * generate.sum(), log_prob + generate.detach(), distribution=distribution)

    @torch.no_grad()
    def copy_posterior(self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor], target: Tensor) -> Tensor:
        """Compute (1 - g) * a_i / p(y) at the source positions i that hold y."""
        _, copy = self._gate(states, precomputed)
        attention = self._attend_to_source(self._query(states, history), precomputed)
        log_prob = self.score(states, history, precomputed, target).log_prob
        posterior = attention * (copy - log_prob[..., None]).exp()
        return posterior.masked_fill(precomputed["ids"][:, None] != target[..., None], 0.0)

    def _project_preceding(self, tokens: Tensor) -> Tensor:
        """Project two preceding tokens (batch, length, 2): (batch, length, 2 * preceding)."""
        embedded = self.embedding(tokens).masked_fill_((tokens == self.pad)[..., None], 0.0).unbind(-2)
        return torch.cat([part(states) for part, states in zip(self.preceding, embedded, strict=True)], dim=-1)

    def _query(self, states: Tensor, history: Tensor) -> Tensor:
        """Queries of outputs, (batch, target, key + 2 * preceding)."""
        return torch.cat([self.query(states), self._project_preceding(history)], dim=-1)

    def _attend(self, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Attention logits of outputs to keys, (batch, target, keys), -inf at padding, except where all is padding."""
        return at_least_float32(torch.baddbmm(precomputed["bias"], query, precomputed["key"]))

    def _attend_to_source(self, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Attention of outputs to source tokens, (batch, target, length)."""
        attention = self._attend(query, precomputed).softmax(-1)  # (batch, target, keys)
        if "pooling_weights" in precomputed:
            attention = matmul_exactly(attention, precomputed["pooling_weights"])
        return attention

    def _gate(self, states: Tensor, precomputed: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Log-probability of generating and of copying, (batch, target, 1) each; 0 and -inf for empty documents."""
        logit = at_least_float32(self.gate(states))
        empty = ~precomputed["mask"].any(1)[:, None, None]
        generate = F.logsigmoid(logit).masked_fill(empty, 0.0)
        return generate, F.logsigmoid(-logit).masked_fill(empty, -torch.inf)


@final
class TiedOutputConfig(OutputConfig):
    """Softmax over the vocabulary with the embedding's own matrix (Press and Wolf, 2017)."""

    kind: Literal["tied"] = "tied"
    bias: bool = False
    """Add a constant to the logit of every token, as in imported models; -inf removes a token."""


@final
class TiedOutput(Output):
    """Generates from the vocabulary only."""

    bias: Tensor | None

    def __init__(self, config: TiedOutputConfig, embedding: nn.Embedding) -> None:
        super().__init__(config, embedding)
        self.register_buffer("bias", torch.zeros(embedding.num_embeddings) if config.bias else None)

    def project_source(self, states: Tensor) -> Tensor:
        """Return no features."""
        return states[..., :0]

    def precompute(self, source: Tokens, memory: Tokens, mixtures: Mixtures) -> dict[str, Tensor]:
        """Return nothing: the head does not use the source."""
        del source, memory, mixtures
        return {}

    def forward(self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Return log-probabilities (batch, target, vocab)."""
        del history, precomputed
        logits = at_least_float32(self.vocabulary(states))
        return (logits if self.bias is None else logits + self.bias).log_softmax(-1)

    def score(
        self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor], target: Tensor, smoothing: float = 0.0
    ) -> Scores:
        """Score references (batch, target)."""
        from sumpool.core.nn.cross_entropy import cross_entropy  # as summaries have no reference

        def distribution(part: slice) -> Tensor:
            return self.forward(states[:, part], history[:, part], precomputed)

        nll, log_prob = cross_entropy(states, self.embedding.weight, self.bias, target, self.pad, smoothing)
        return Scores(nll, log_prob, distribution=distribution)
