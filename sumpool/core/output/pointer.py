"""A mixture of writing and copying whose keys also know what comes before (after See et al., 2017).

p(y) = g * p_vocab(y) + (1 - g) * sum of a_i over the source positions i that hold y. The attention a has three parts:
what a position means (its encoder state against the decoder state), and the one and the two *preceding* source tokens
against the last two outputs, through the same matrices on both sides. So from the first step of training on, the head
points behind a source bigram that has just been written, and copies spans long before it understands them. None of
the five papers has it.

Cost: O(target * length * key) beside O(target * vocab * dim); nothing of size target * length * vocab is ever held.
"""

from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.cross_entropy import cross_entropy
from sumpool.core.nn.layers import TiedProjection
from sumpool.core.nn.masking import pad_id, zero_padding
from sumpool.core.nn.mixture import Mixtures, compose
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.output._base import Output, OutputConfig, Scores
from sumpool.core.tokens import Tokens

MATCH = 6.0
"""Attention logit of one matching preceding token at the start of training; two matches outweigh thousands of none."""


@final
class PointerOutputConfig(OutputConfig):
    """Settings of the pointer."""

    kind: Literal["pointer"] = "pointer"
    key: int = Field(128, ge=1)
    """Features that compare meaning."""
    preceding: int = Field(64, ge=1)
    """Features that compare each of the two preceding tokens."""
    copies: Literal["source", "memory"] = "source"
    """What is pointed at: every source token, or every vector that pooling left, which stands for the source tokens
    behind it by their weights."""

    def build(self, embedding: nn.Embedding) -> "PointerOutput":
        """Build the head."""
        return PointerOutput(embedding, self)


@final
class PointerOutput(Output):
    """Writes from the vocabulary or copies from the source."""

    def __init__(self, embedding: nn.Embedding, config: PointerOutputConfig) -> None:
        super().__init__()
        dim, key, preceding = embedding.embedding_dim, config.key, config.preceding
        self.embedding = embedding
        self.pad = pad_id(embedding)
        self.vocabulary = TiedProjection(embedding)
        self.copies = config.copies
        self.norm = nn.LayerNorm(dim)  # pre-norm layers leave their sums unnormalised
        self.query = nn.Linear(dim, key)
        self.key = nn.Linear(dim, key, bias=False)
        self.preceding = nn.ModuleList(nn.Linear(dim, preceding, bias=False) for _ in range(2))
        self.gate = nn.Linear(dim, 1)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start with attention that points behind matching tokens; embeddings have unit length then."""
        nn.init.xavier_uniform_(self.query.weight)
        nn.init.xavier_uniform_(self.key.weight)
        for part in self.preceding:
            assert isinstance(part, nn.Linear)
            nn.init.normal_(part.weight, std=(MATCH / part.out_features) ** 0.5)

    def see(self, states: Tensor) -> Tensor:
        """Take the part of the key that compares meaning: (..., dim) -> (..., key)."""
        key: Tensor = self.key(self.norm(states)) / self.key.out_features**0.5
        return key

    def precompute(self, ids: Tensor, source: Tokens, memory: Tokens, mixtures: Mixtures) -> dict[str, Tensor]:
        """Keep keys (batch, keys, key + 2 * preceding), their mask (batch, keys), and the ids (batch, length).

        Keys are source positions; or vectors of the memory, whose preceding tokens are those of the source tokens
        behind them, by weight. Then `spread` (batch, keys, length) has the weights.
        """
        spread = compose(mixtures, ids.size(1)) if self.copies == "memory" else None
        seen = source if spread is None else memory.with_states(self.see(zero_padding(memory.states, memory.mask)))
        before = torch.stack(
            [F.pad(ids, (back, -back), value=self.pad) for back in (1, 2)], dim=-1
        )  # (batch, length, 2)
        preceding = self._precede(before)
        if spread is not None:
            preceding = spread.to(preceding.dtype) @ preceding
        kept = {"key": torch.cat([seen.states, preceding], dim=-1), "mask": seen.mask, "ids": ids}
        return kept if spread is None else {**kept, "spread": spread}

    @torch.no_grad()  # a piece that the source holds twice is written twice below, which would count its gradient twice
    def forward(self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Give log-probabilities (batch, target, vocab), for writing: without gradients, which `score` has."""
        write, copy = self._gate(states, precomputed)
        written = write + self._vocabulary(states)  # (batch, target, vocab)
        attention = self._attend(states, history, precomputed).softmax(-1).nan_to_num()  # (batch, target, keys)
        if "spread" in precomputed:
            attention = attention @ precomputed["spread"].to(attention.dtype)  # (batch, target, length)
        ids = precomputed["ids"][:, None].expand_as(attention)
        # Sums of probabilities after the softmax: below the smallest float a copy adds nothing to any sum of logs.
        copied = torch.zeros_like(written).scatter_add_(-1, ids, attention).gather(-1, ids)
        copied = copy + copied.clamp_min(torch.finfo(copied.dtype).tiny).log()  # (batch, target, length)
        # What the source does not hold cannot be copied, and most of the vocabulary is not in it.
        return written.scatter_(-1, ids, torch.logaddexp(written.gather(-1, ids), copied))

    def score(
        self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor], target: Tensor, smoothing: float = 0.0
    ) -> Scores:
        """Score the reference (batch, target); smoothing is that of writing, since copying has no spread to smooth."""
        write, copy = (part.squeeze(-1) for part in self._gate(states, precomputed))  # (batch, target) each
        found, copied = self._copy(states, history, precomputed, target)
        # log(w v + c) = log w + log(v + c / w): what writing finds in the vocabulary, v, never leaves its chunk.
        odds = torch.where(found, copy - write + copied, -torch.inf)
        nll, log_prob = cross_entropy(states, self.embedding.weight, None, target, self.pad, smoothing, odds)
        write = write.masked_fill(target == self.pad, 0.0)
        return Scores(nll - (1 - smoothing) * write.sum(), log_prob + write.detach())

    def _copy(
        self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor], target: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Say whether a copy can be the reference, and the log-probability that it is, (batch, target) each."""
        attention = self._attend(states, history, precomputed)  # (batch, target, keys)
        match = precomputed["ids"][:, None] == target[..., None]  # (batch, target, length)
        shared = attention
        if "spread" in precomputed:
            share = match.to(attention.dtype) @ precomputed["spread"].to(attention.dtype).transpose(1, 2)
            match = share > 0  # (batch, target, keys)
            shared = attention + share.masked_fill(~match, 1.0).log()
        match = match & precomputed["mask"][:, None]
        found = match.any(-1)
        # Where nothing matches, the sums run over zeros: a logsumexp of nothing has no gradient that is a number.
        matched = shared.masked_fill(~match, -torch.inf).masked_fill(~found[..., None], 0.0).logsumexp(-1)
        whole = attention.masked_fill(~found[..., None], 0.0).logsumexp(-1)
        return found, matched - whole

    def _vocabulary(self, states: Tensor) -> Tensor:
        return at_least_float32(self.vocabulary(states)).log_softmax(-1)

    def _precede(self, tokens: Tensor) -> Tensor:
        """Project a token and the one before it (batch, length, 2): (batch, length, 2 * preceding)."""
        vectors = [zero_padding(self.embedding(tokens[..., back]), tokens[..., back] != self.pad) for back in range(2)]
        return torch.cat([part(vector) for part, vector in zip(self.preceding, vectors, strict=True)], dim=-1)

    def _attend(self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Compare outputs with source positions: logits (batch, target, length), -inf at padding."""
        query = torch.cat([self.query(states), self._precede(history)], dim=-1)  # (batch, target, key + 2 * preceding)
        logits = at_least_float32(query @ precomputed["key"].transpose(1, 2))
        return logits.masked_fill(~precomputed["mask"][:, None], -torch.inf)

    def _gate(self, states: Tensor, precomputed: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Log-probability of writing and of copying, (batch, target, 1) each; with nothing to copy, writing is sure."""
        choice = at_least_float32(self.gate(states))
        empty = ~precomputed["mask"].any(1)[:, None, None]
        write = F.logsigmoid(choice).masked_fill(empty, 0.0)
        return write, F.logsigmoid(-choice).masked_fill(empty, -torch.inf)
