"""Sentence-selective cross-attention (Manakul and Gales, 2021): a token of the summary sees `sentences` sentences only.

A selection shares attention out among the sentences, heads are averaged, and the best sentences of each layer, step
and hypothesis are seen by all heads, O(target * sentences * words of a sentence) beside O(target * length). Where a
document has no more sentences than may be seen, this is full cross-attention.

In training all words are scored, since the losses compare the selection with the attention that full sight gives:
`sparsity` is the entropy of that attention over sentences (Equation 5), `selection` the divergence of the selection
from it (Equation 11), at `temperature` (Equation 15).

Departures from the released code: heads are split before sentences are, hypotheses of a beam each select for
themselves, a batch may hold any number of documents, and padding is in no sentence.
"""

from typing import Annotated, Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn

from sumpool.core.cross_attention._base import CrossAttention, CrossAttentionConfig, Held, Reader, Seen
from sumpool.core.nn.heads import merge_heads, split_heads
from sumpool.core.nn.masking import hide
from sumpool.core.nn.sentences import Sentences
from sumpool.core.selection._base import SelectionConfig
from sumpool.core.selection.ideal import IdealConfig
from sumpool.core.sentence_encoding._base import SentenceEncoder
from sumpool.core.tokens import Tokens
from sumpool.variants import OneOf


@final
class SentenceConfig(CrossAttentionConfig):
    """Settings of sentence-selective cross-attention."""

    kind: Literal["sentence"] = "sentence"
    sentences: int = Field(10, ge=1)
    """Sentences that a token of the summary sees, in each layer others."""
    selection: Annotated[SelectionConfig, OneOf("sumpool.core.selection")] = IdealConfig()
    """How they are chosen."""
    training: Literal["full", "ideal", "selection", "mix"] = "selection"
    """What is seen in training: everything, the sentences that full sight gives most attention, those that the
    selection chooses, or for each document one of the two, ever more often the latter."""
    mix_steps: int = Field(10_000, ge=1)
    """Batches of training after which mix has become selection."""
    temperature: float = Field(0.5, gt=0)
    """Temperature of the attention that the loss `selection` compares with; below 1 it is sharper."""
    divergence: Literal["distribution", "element"] = "distribution"
    """What the loss `selection` is a mean of: divergences, or their terms, so that documents of many sentences count
    less, as in the released code (which also sums over the layers where this takes the mean)."""

    def build(self, dim: int, heads: int) -> "SentenceCrossAttention":
        """Build one layer."""
        return SentenceCrossAttention(dim, heads, self)

    def build_reader(self, dim: int) -> "SentenceReader":
        """Build what finds and encodes sentences for all layers."""
        return SentenceReader(self.selection.build_encoder(dim))


@final
class SentenceReader(Reader):
    """Finds the sentences of the memory and encodes them once for all layers."""

    def __init__(self, encoder: SentenceEncoder | None) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, memory: Tokens) -> dict[str, Tensor]:
        """Give number, first and count of `Sentences`, and vectors (batch, sentences, dim) where one is needed."""
        sentences = Sentences.find(memory)
        found = {"number": sentences.number, "first": sentences.first, "count": sentences.count}
        return found if self.encoder is None else {**found, "vectors": self.encoder(memory, sentences)}


@final
class SentenceCrossAttention(CrossAttention):
    """Sees the sentences that its selection chooses."""

    def __init__(self, dim: int, heads: int, config: SentenceConfig) -> None:
        super().__init__()
        self.heads = heads
        self.config = config
        self.query = nn.Linear(dim, dim)
        self.key_value = nn.Linear(dim, 2 * dim)
        self.out = nn.Linear(dim, dim)
        self.selection = config.selection.build(dim, heads)

    def remember(self, memory: Tokens, shared: dict[str, Tensor]) -> dict[str, Tensor]:
        """Project keys and values once, (batch, heads, length, head_dim) each, and keep what selects."""
        key, value = self.key_value(hide(memory.states, memory.mask)).chunk(2, dim=-1)
        key = split_heads(key, self.heads)
        sentences = Sentences(shared["number"], shared["first"], shared["count"])
        selecting = self.selection.remember(key, memory.mask, sentences, shared.get("vectors"))
        words = {"key": key, "value": split_heads(value, self.heads), "mask": memory.mask}
        return {**words, **shared, **{f"selection.{name}": kept for name, kept in selecting.items()}}

    def forward(self, queries: Tensor, remembered: dict[str, Tensor], mask: Tensor | None = None) -> Seen:
        """See; see `CrossAttention.forward`."""
        del mask
        query = split_heads(self.query(queries), self.heads)  # (batch, heads, target, head_dim)
        chosen = self._choose(self._select(queries, query, remembered))  # (batch, target, sentences)
        number = remembered["number"][:, None].expand(-1, queries.size(1), -1)
        seen = chosen.gather(2, number) & remembered["mask"][:, None]  # (batch, target, length)
        scores = query @ remembered["key"].transpose(2, 3) / query.size(-1) ** 0.5
        weights = scores.masked_fill(~seen[:, None], -torch.inf).softmax(-1).nan_to_num()
        return Seen(self.out(merge_heads(weights @ remembered["value"])))

    def step(self, queries: Tensor, remembered: dict[str, Tensor], held: Held) -> tuple[Tensor, Held]:
        """See; keys and values of the chosen sentences alone are read."""
        return self.forward(queries, remembered).states, held

    def _select(self, queries: Tensor, query: Tensor, remembered: dict[str, Tensor]) -> Tensor:
        """Ask the selection: logarithms of shares (batch, heads, target, sentences)."""
        prefix = "selection."
        own = {name.removeprefix(prefix): kept for name, kept in remembered.items() if name.startswith(prefix)}
        shares: Tensor = self.selection(queries, query, own)
        return shares

    def _choose(self, shares: Tensor) -> Tensor:
        """Choose the sentences with the highest shares, averaged over the heads: (batch, target, sentences)."""
        mean = shares.logsumexp(1)  # (batch, target, sentences); of what no document has -inf
        best = mean.topk(min(self.config.sentences, mean.size(-1)), dim=-1).indices
        return torch.zeros_like(mean, dtype=torch.bool).scatter(2, best, value=True) & (mean > -torch.inf)
