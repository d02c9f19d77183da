"""Sentence-selective cross-attention (Manakul and Gales, 2021): a token of the summary sees `sentences` sentences only.

A selection shares attention out among the sentences, heads are averaged, and the best sentences of each layer, step
and hypothesis are seen by all heads, O(target * sentences * words of a sentence) beside O(target * length). Where a
document has no more sentences than may be seen, this is full cross-attention.

A search reads the keys and values of the chosen sentences only, once for all hypotheses of a document. A step of one
layer at 8,192 words in sentences of 40, four documents, four beams and the best 10 of an approximate selection took a
fifth of the time of full cross-attention on one CPU core where hypotheses choose much the same, a third where they have
nothing in common. To hold a choice for some steps saves that choosing, a fifth of the step, and no reading.

In training all words are scored, since the losses compare the selection with the attention that full sight gives:
`sparsity` is the entropy of that attention over sentences (Equation 5), `selection` the divergence of the selection
from it (Equation 11), at `temperature` (Equation 15). The choice has no gradient, so that the cross-entropy never
reaches the selection, while the divergence reaches the decoder too (Equations 13 and 14). The figure `kept` is the
share of full attention that the selection's choice holds.

Departures from the released code: heads are split before sentences are, hypotheses of a beam each select for
themselves, a batch may hold any number of documents, and padding is in no sentence. As there, each update makes the
sum of all losses smaller, where the paper speaks of turns.
"""

from typing import Annotated, Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn

from sumpool.core.cross_attention._base import (
    CrossAttention,
    CrossAttentionConfig,
    CrossAttentionOutput,
    MemoryEncoder,
    StepState,
)
from sumpool.core.nn.divergence import divergence, entropy, mean_over_documents, sharpen
from sumpool.core.nn.gathering import attend_to_groups
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.masking import attend, zero_padding
from sumpool.core.nn.sentences import Sentences, share_words
from sumpool.core.selection._base import SelectionConfig
from sumpool.core.selection.ideal import IdealSelectionConfig
from sumpool.core.sentence_encoding._base import SentenceEncoder
from sumpool.core.tokens import Tokens
from sumpool.variants import OneOf


@final
class SentenceCrossAttentionConfig(CrossAttentionConfig):
    """Settings of sentence-selective cross-attention."""

    kind: Literal["sentence"] = "sentence"
    sentences: int = Field(10, ge=1)
    """Sentences that a token of the summary sees, in each layer others."""
    hold: int = Field(1, ge=1)
    """Steps of a search for which a hypothesis keeps to the sentences once chosen; 1 chooses anew at every step, as
    training does."""
    selection: Annotated[SelectionConfig, OneOf("sumpool.core.selection")] = IdealSelectionConfig()
    """How they are chosen."""
    training: Literal["full", "ideal", "selection", "mix"] = "selection"
    """What is seen in training: everything, the sentences that full sight gives most attention, those that the
    selection chooses, or for each document one of the two, ever more often the latter."""
    mix_steps: int = Field(10_000, ge=1)
    """Batches of training after which mix has become selection; before, a document sees the ideal sentences with a
    probability that falls from 1 to 0 in a straight line."""
    temperature: float = Field(0.5, gt=0)
    """Temperature of the attention that the loss `selection` compares with; below 1 it is sharper."""
    divergence: Literal["distribution", "element"] = "distribution"
    """What the loss `selection` is a mean of: divergences, or their terms, so that documents of many sentences count
    less, as in the released code (which also sums over the layers where this takes the mean)."""

    @property
    def selection_losses(self) -> tuple[str, ...]:
        """Auxiliary losses that train the selection."""
        return self.selection.losses

    def build(self, dim: int, heads: int) -> "SentenceCrossAttention":
        """Build one layer."""
        return SentenceCrossAttention(dim, heads, self)

    def build_memory_encoder(self, dim: int) -> "SentenceMemoryEncoder":
        """Build what finds and encodes sentences for all layers."""
        return SentenceMemoryEncoder(
            self.selection.build_encoder(dim), self.mix_steps if self.training == "mix" else None
        )


@final
class SentenceMemoryEncoder(MemoryEncoder):
    """Finds the sentences of the memory and encodes them once for all layers."""

    batches: Tensor

    def __init__(self, encoder: SentenceEncoder | None, mix_steps: int | None) -> None:
        super().__init__()
        self.encoder = encoder
        self.mix_steps = mix_steps
        if mix_steps:
            self.register_buffer("batches", torch.zeros((), dtype=torch.long))  # saved, so that a run can go on

    def forward(self, memory: Tokens) -> dict[str, Tensor]:
        """Find sentences.

        Returns:
            number, first and count of `Sentences`; vectors (batch, sentences, dim) where a selection needs them; in
            training with mix ideal (batch,), True where a document sees its ideal sentences in all layers.
        """
        sentences = Sentences.find(memory)
        found = {"number": sentences.number, "first": sentences.first, "count": sentences.count}
        if self.encoder is not None:
            found["vectors"] = self.encoder(memory, sentences)
        if self.training and self.mix_steps:
            found["ideal"] = torch.rand(len(memory.mask), device=memory.mask.device) >= self.batches / self.mix_steps
            self.batches += 1
        return found


@final
class SentenceCrossAttention(CrossAttention):
    """Sees the sentences that its selection chooses."""

    has_fixed_shapes = False  # as many words are read as the chosen sentences have

    def __init__(self, dim: int, heads: int, config: SentenceCrossAttentionConfig) -> None:
        super().__init__()
        self.heads = heads
        self.config = config
        self.query = nn.Linear(dim, dim)
        self.key_value = nn.Linear(dim, 2 * dim)
        self.out = nn.Linear(dim, dim)
        self.selection = config.selection.build(dim, heads)

    def precompute(self, memory: Tokens, shared: dict[str, Tensor]) -> dict[str, Tensor]:
        """Project keys and values once, those of a word side by side (batch, length, 2 * dim); keep what selects."""
        words = self.key_value(zero_padding(memory.states, memory.mask))
        key, _ = self._split(words)
        sentences = Sentences(shared["number"], shared["first"], shared["count"])
        selecting = self.selection.precompute(key, memory.mask, sentences, shared.get("vectors"))
        kept = {f"selection.{name}": tensor for name, tensor in selecting.items()}
        return {"words": words, "mask": memory.mask, **shared, **kept}

    def forward(
        self, queries: Tensor, precomputed: dict[str, Tensor], mask: Tensor | None = None
    ) -> CrossAttentionOutput:
        """See; see `CrossAttention.forward`."""
        query = split_heads(self.query(queries), self.heads)  # (batch, heads, target, head_dim)
        shares = self._select(queries, query, precomputed)
        chosen = self._choose(shares)
        if not self.training:
            return CrossAttentionOutput(self._see(query, chosen, precomputed))
        full = self._share_fully(query, precomputed)
        losses, metrics = self._judge(shares, chosen, full, precomputed, mask)
        return CrossAttentionOutput(
            self._see(query, self._show(chosen, full, precomputed), precomputed), losses, metrics
        )

    def step(self, queries: Tensor, precomputed: dict[str, Tensor], held: StepState) -> tuple[Tensor, StepState]:
        """See; keys and values of the chosen sentences alone are read."""
        query = split_heads(self.query(queries), self.heads)  # (batch, heads, beams, head_dim)
        chosen, held = self._keep(queries, query, precomputed, held)
        mixed = attend_to_groups(query, precomputed["words"], precomputed["mask"], precomputed["number"], chosen)
        return self.out(merge_heads(mixed)), held

    def choose(self, queries: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Choose what each query sees: (batch, target, sentences), True at the chosen sentences."""
        query = split_heads(self.query(queries), self.heads)  # (batch, heads, target, head_dim)
        return self._choose(self._select(queries, query, precomputed))

    def _keep(
        self, queries: Tensor, query: Tensor, precomputed: dict[str, Tensor], held: StepState
    ) -> tuple[Tensor, StepState]:
        """Choose sentences, (batch, beams, sentences), unless a choice is to be kept, and say what is held of it."""
        if self.config.hold == 1:
            return self._choose(self._select(queries, query, precomputed)), held
        age = int(held["age"][0]) if held else 0  # the same for all
        if age:
            chosen = held["chosen"].unflatten(0, queries.shape[:2])
        else:
            chosen = self._choose(self._select(queries, query, precomputed))
        ages = torch.full((len(chosen) * chosen.size(1),), (age + 1) % self.config.hold, device=chosen.device)
        return chosen, {"chosen": chosen.flatten(0, 1), "age": ages}

    def _split(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Part keys and values, (batch, heads, length, head_dim) each; views."""
        key, value = words.chunk(2, dim=-1)
        return split_heads(key, self.heads), split_heads(value, self.heads)

    def _select(self, queries: Tensor, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Ask the selection: logarithms of shares (batch, heads, target, sentences)."""
        prefix = "selection."
        own = {name.removeprefix(prefix): kept for name, kept in precomputed.items() if name.startswith(prefix)}
        shares: Tensor = self.selection(queries, query, own)
        return shares

    def _choose(self, shares: Tensor) -> Tensor:
        """Choose the sentences with the highest shares, averaged over the heads: (batch, target, sentences)."""
        mean = shares.logsumexp(1)  # (batch, target, sentences); -inf where there is none
        best = mean.topk(min(self.config.sentences, mean.size(-1)), dim=-1).indices
        return torch.zeros_like(mean, dtype=torch.bool).scatter(2, best, value=True) & (mean > -torch.inf)

    def _see(self, query: Tensor, chosen: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Attend to the words of the chosen sentences: (batch, target, dim)."""
        number = precomputed["number"][:, None].expand(-1, chosen.size(1), -1)
        hidden = ~chosen.gather(2, number)  # (batch, target, length)
        bias = query.new_zeros(hidden.shape).masked_fill(hidden, -torch.inf)[:, None]
        mixed = attend(query, *self._split(precomputed["words"]), precomputed["mask"], bias)
        seen: Tensor = self.out(merge_heads(mixed))
        return seen

    def _show(self, chosen: Tensor, full: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Say which sentences are seen in training: (batch, target, sentences)."""
        match self.config.training:
            case "full":
                return torch.ones_like(chosen)
            case "ideal":
                return self._choose(full)
            case "selection":
                return chosen
            case "mix":
                return torch.where(precomputed["ideal"][:, None, None], self._choose(full), chosen)

    def _share_fully(self, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Share out what full attention gives: logarithms (batch, heads, target, sentences)."""
        key, _ = self._split(precomputed["words"])
        scores = query @ key.transpose(2, 3) / query.size(-1) ** 0.5
        sentences = Sentences(precomputed["number"], precomputed["first"], precomputed["count"])
        return share_words(scores, precomputed["mask"], sentences.membership(precomputed["mask"], scores.dtype))

    def _judge(
        self, shares: Tensor, chosen: Tensor, full: Tensor, precomputed: dict[str, Tensor], mask: Tensor | None
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Compare the selection with full attention: losses and figures."""
        exists = precomputed["count"] > 0  # (batch, sentences)
        apart = divergence(sharpen(full, self.config.temperature, exists), shares)  # (batch, heads, target)
        if self.config.divergence == "element":
            apart = apart / exists.sum(1).clamp_min(1)[:, None, None]
        kept = (full.detach().exp() * chosen[:, None]).sum(-1)
        losses = {"sparsity": mean_over_documents(entropy(full), mask), "selection": mean_over_documents(apart, mask)}
        return losses, {"kept": mean_over_documents(kept, mask)}
