"""Cross-attention from the decoder to the encoder's memory."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.masking import attend, dot_product_attention, precompute_mask, zero_padding
from sumpool.core.nn.numerics import at_least_float32, round_up, to_device
from sumpool.core.nn.quantization import UnquantizedLinear
from sumpool.core.nn.sentences import (
    Sentences,
    attend_to_groups,
    divergence,
    entropy,
    mean_over_documents,
    sharpen,
    sum_over_sentences,
    visible_words,
)
from sumpool.core.selection import IdealSelectionConfig, SelectionConfig
from sumpool.core.sentence_encoding import SentenceEncoder
from sumpool.core.tokens import Tokens
from sumpool.settings import OneOf, VariantSettings

ROOM_MULTIPLE = 64
"""The most words that a query selects are rounded up to a multiple of this on a GPU, so that batches share graphs."""


@dataclass(frozen=True)
class CrossAttentionOutput:
    """Output of a cross-attention or of a decoder layer.

    Attributes:
        states: (batch, target, dim).
        losses: Auxiliary losses by name, scalars, means over the documents; the decoder averages them over its layers.
        metrics: Detached scalar metrics by name, logged to metrics.jsonl.
    """

    states: Tensor
    losses: dict[str, Tensor] = field(default_factory=dict)
    metrics: dict[str, Tensor] = field(default_factory=dict)


class MemoryEncoder(nn.Module):
    """Computation on the memory that all decoder layers share; none by default."""

    def forward(self, memory: Tokens) -> dict[str, Tensor]:
        """Return the shared tensors, batch first."""
        del memory
        return {}


class CrossAttentionConfig(VariantSettings):
    """Settings of one cross-attention."""

    optional_losses: ClassVar[tuple[str, ...]] = ()
    """Auxiliary losses beside those that train the setting `selection`."""

    def build(self, dim: int, heads: int) -> "CrossAttention":
        """Build one layer for states of `dim` features."""
        layer: CrossAttention = self.variant_class(self, dim, heads)
        return layer

    def build_memory_encoder(self, dim: int) -> MemoryEncoder:
        """Build the computation that all layers share."""
        del dim
        return MemoryEncoder()

    @property
    def selection_losses(self) -> tuple[str, ...]:
        """Auxiliary losses that train the setting `selection`; empty without such a setting."""
        return ()


class CrossAttention(nn.Module, ABC):
    """Attention from the summary to the memory; owns its projections and what it precomputes of a document.

    Attributes:
        config: Settings of the variant.
        heads: Number of heads.
        query: Projection of the queries.
        key_value: Joint projection of the memory to keys and values.
        out: Output projection of the merged heads.
    """

    def __init__(self, config: CrossAttentionConfig, dim: int, heads: int, linear: type[nn.Linear] = nn.Linear) -> None:
        super().__init__()
        self.config = config
        self.heads = heads
        self.query = nn.Linear(dim, dim)
        self.key_value = linear(dim, 2 * dim)
        self.out = nn.Linear(dim, dim)

    @abstractmethod
    def precompute(self, memory: Tokens, shared: dict[str, Tensor]) -> dict[str, Tensor]:
        """Project the memory once for all decoding steps; tensors are batch first and shared by a document's beams.

        Args:
            memory: Output of the encoder.
            shared: Result of the memory encoder of the same settings.
        """

    def forward(
        self, queries: Tensor, precomputed: dict[str, Tensor], mask: Tensor | None = None
    ) -> CrossAttentionOutput:
        """Attend from whole summaries, as in training; by default to the precomputed key, value and bias of each head.

        Args:
            queries: (batch, target, dim).
            precomputed: Result of `precompute` for the documents.
            mask: (batch, target), True at the tokens that count in losses and metrics; None where all do.
        """
        del mask
        key, value, bias = (precomputed[name] for name in ("key", "value", "bias"))
        attended = dot_product_attention(self._split_query(queries), key, value, bias)
        return CrossAttentionOutput(self.out(merge_heads(attended)))

    def step(self, queries: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Attend from the newest token of every beam.

        Args:
            queries: (batch, beams, dim).
            precomputed: Result of `precompute` for the documents.

        Returns:
            (batch, beams, dim), equal to the result of `forward` up to rounding.
        """
        return self.forward(queries, precomputed).states

    def attention_weights(self, queries: Tensor, precomputed: dict[str, Tensor], length: int) -> Tensor:
        """Compute the attention weights of whole summaries, by default to the precomputed keys of each head.

        Args:
            queries: (batch, target, dim).
            precomputed: Result of `precompute` for the documents.
            length: States of the memory.

        Returns:
            (batch, heads, target, length), in at least single precision; rows sum to 1. A head that sees no state has
            weights at padding only.
        """
        del length
        return softmax_scores(self._split_query(queries), precomputed["key"], precomputed["bias"])

    def _split_query(self, queries: Tensor) -> Tensor:
        """Project queries (batch, target, dim): (batch, heads, target, head_dim)."""
        return split_heads(self.query(queries), self.heads)


def softmax_scores(query: Tensor, key: Tensor, bias: Tensor) -> Tensor:
    """Softmax of scaled dot products plus a bias, (batch, heads, target, length)."""
    scores = at_least_float32(query @ key.transpose(2, 3)) / query.size(-1) ** 0.5
    weights: Tensor = (scores + bias).softmax(-1)
    return weights


@final
class FullCrossAttentionConfig(CrossAttentionConfig):
    """Full cross-attention (Vaswani et al., 2017): every token of the summary attends to every state of the memory."""

    kind: Literal["full"] = "full"


@final
class FullCrossAttention(CrossAttention):
    """Attends to the whole memory."""

    def precompute(self, memory: Tokens, shared: dict[str, Tensor]) -> dict[str, Tensor]:
        """Project keys and values once, (batch, heads, length, head_dim) each, with the bias that masks padding."""
        del shared
        # Contiguous: a decoding step reads 8,192 states in half the time, and 512 a tenth faster.
        key, value = (
            split_heads(part, self.heads).contiguous()
            for part in self.key_value(zero_padding(memory.states, memory.mask)).chunk(2, dim=-1)
        )
        bias, value = precompute_mask(memory.mask[:, None], value)
        return {"key": key, "value": value, "bias": bias}


@final
class HeposCrossAttentionConfig(CrossAttentionConfig):
    """Head-wise positional strides (HEPOS: Huang et al., 2021, "Efficient Attentions for Long Document Summarization").

    Head i attends to every `stride`-th state of the memory, starting at i mod stride (Section 3), so that all heads
    together cover the memory and keys and values take 1 / stride of their time and memory: O(target * length * dim /
    stride). Each head projects only the states that it attends to. Parameters are those of full cross-attention and may
    be loaded from it.

    Departure from the released code: a memory whose length is a multiple of the stride is not padded, and padding is
    always masked (there, every head attends to one padding vector). A head without states in a short document
    contributes zeros.
    """

    kind: Literal["hepos"] = "hepos"
    stride: int = Field(4, ge=1, le=10_000_000)
    """Distance between the states that a head attends to; with fewer heads than this, some states are skipped."""


@final
class HeposCrossAttention(CrossAttention):
    """Each head attends to its own positions of the memory."""

    def __init__(self, config: HeposCrossAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads, UnquantizedLinear)
        self.stride = config.stride

    def precompute(self, memory: Tokens, shared: dict[str, Tensor]) -> dict[str, Tensor]:
        """Project keys and values of each head, (batch, heads, positions, head_dim), and the bias that masks padding.

        The number of positions is length / stride, rounded up.
        """
        del shared
        rest = -memory.mask.size(1) % self.stride
        states = F.pad(zero_padding(memory.states, memory.mask), (0, 0, 0, rest)).unflatten(1, (-1, self.stride))
        mask = F.pad(memory.mask, (0, rest)).unflatten(1, (-1, self.stride))  # (batch, positions, stride)
        starts = [index % self.stride for index in range(self.heads)]
        key_values: list[Tensor] = [states] * self.heads
        for start in sorted(set(starts)):
            heads = [head for head, other in enumerate(starts) if other == start]
            weight, bias = (  # those of these heads
                torch.stack([part.unflatten(0, (2, self.heads, -1))[:, head] for head in heads], dim=1).flatten(0, 2)
                for part in (self.key_value.weight, self.key_value.bias)
            )
            projected = F.linear(states[:, :, start].contiguous(), weight, bias).unflatten(2, (2, len(heads), -1))
            for head, key_value in zip(heads, projected.unbind(3), strict=True):
                key_values[head] = key_value
        joint = torch.stack(key_values, dim=1)  # (batch, heads, positions, 2, head_dim)
        key, value = (part.contiguous() for part in joint.unbind(3))  # as decoding steps read them
        bias, value = precompute_mask(mask.index_select(2, to_device(starts, mask)).transpose(1, 2), value)
        return {"key": key, "value": value, "bias": bias}

    def attention_weights(self, queries: Tensor, precomputed: dict[str, Tensor], length: int) -> Tensor:
        """Compute the attention weights of whole summaries, 0 at positions that a head does not attend to."""
        weights = super().attention_weights(queries, precomputed, length)  # (batch, heads, target, positions)
        spread = weights.new_zeros(*weights.shape, self.stride)
        for head in range(self.heads):
            spread[:, head, :, :, head % self.stride] = weights[:, head]
        return spread.flatten(3)[..., :length]


@final
class SentenceCrossAttentionConfig(CrossAttentionConfig):
    """Sentence-selective cross-attention (Manakul and Gales, 2021): each summary token attends to k sentences only.

    A selection distributes attention over the sentences, heads are averaged, and all heads of a layer attend to the
    top-k sentences of each step and hypothesis: O(target * sentences * words of a sentence) instead of O(target *
    length). In documents with at most k sentences this is full cross-attention.

    During decoding, keys and values of the selected sentences only are read, once for all beams of a document. A step
    of one layer at 8,192 words in sentences of 40, four documents, four beams and the top 10 of an approximate
    selection took a fifth of the time of full cross-attention on one CPU core where beams select mostly the same
    sentences, a third where they share none.

    In training all words are scored, since the losses compare the selection with full attention: `sparsity` is the
    entropy of full attention over sentences (Equation 5), `selection` the divergence of the selection from it (Equation
    11), at `temperature` (Equation 15). The top-k choice has no gradient, so that the cross-entropy never reaches the
    selection, while the divergence reaches the decoder too (Equations 13 and 14). The metric `kept` is the fraction of
    full attention on the selected sentences.

    Departures from the released code: heads are split before sentences are, every beam selects its own sentences,
    batches may hold any number of documents, and padding belongs to no sentence. As there, each update minimises the
    sum of all losses, where the paper alternates between them.
    """

    kind: Literal["sentence"] = "sentence"
    sentences: int = Field(10, ge=1, le=1_000_000)
    """Sentences that each summary token attends to, selected in each layer."""
    selection: Annotated[SelectionConfig, OneOf("sumpool.core.selection")] = IdealSelectionConfig()
    """How sentences are selected."""
    training: Literal["full", "ideal", "selection", "mix"] = "selection"
    """Sentences attended to in training: all, those with the largest full attention, those of the selection, or for
    each document one of the latter two, the selection with growing probability."""
    mix_steps: int = Field(10_000, ge=1, le=1_000_000_000)
    """Training batches over which `mix` moves from ideal to selected sentences; the probability of ideal sentences
    falls linearly from 1 to 0."""
    temperature: float = Field(0.5, ge=0.01, le=100)
    """Temperature of the full attention that the loss `selection` compares with; below 1 it is sharper."""
    divergence: Literal["distribution", "element"] = "distribution"
    """Mean of the loss `selection`: over divergences, or over their terms, so that documents with many sentences weigh
    less, as in the released code (which also sums over the layers where this takes the mean)."""

    optional_losses: ClassVar[tuple[str, ...]] = ("sparsity",)

    @property
    def selection_losses(self) -> tuple[str, ...]:
        """Auxiliary losses that train the selection."""
        return self.selection.losses

    def build_memory_encoder(self, dim: int) -> "SentenceMemoryEncoder":
        """Build the sentence encoder that all layers share."""
        mix_steps = self.mix_steps if self.training == "mix" else None
        encoder = getattr(self.selection, "encoder", None)
        return SentenceMemoryEncoder(encoder and encoder.build(dim), mix_steps, self.sentences)


@final
class SentenceCrossAttention(CrossAttention):
    """Attention to the sentences of a selection."""

    config: SentenceCrossAttentionConfig

    def __init__(self, config: SentenceCrossAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads)
        self.selection = config.selection.build(dim, heads)

    def precompute(self, memory: Tokens, shared: dict[str, Tensor]) -> dict[str, Tensor]:
        """Project keys and values once, those of a word side by side (batch, length, 2 * dim); precompute selection."""
        words = self.key_value(zero_padding(memory.states, memory.mask))
        key, _ = self._split(words)
        sentences = Sentences(shared["index"], shared["first"], shared["count"])
        selection = self.selection.precompute(key, memory.mask, sentences, shared.get("vectors"))
        return {**selection, "words": words, "mask": memory.mask, **shared}

    def forward(
        self, queries: Tensor, precomputed: dict[str, Tensor], mask: Tensor | None = None
    ) -> CrossAttentionOutput:
        """Attend from whole summaries to the sentences that are selected for each position."""
        query, (key, value) = self._split_query(queries), self._split(precomputed["words"])
        log_weights = self.selection(queries, query, precomputed)  # (batch, heads, target, sentences)
        selected = self._top_sentences(log_weights)
        losses: dict[str, Tensor] = {}
        metrics: dict[str, Tensor] = {}
        if self.training:
            # Log-weights of full attention, (batch, heads, target, sentences), beside those of the selection.
            scores = query @ key.transpose(2, 3) / query.size(-1) ** 0.5
            sentences = Sentences(precomputed["index"], precomputed["first"], precomputed["count"])
            membership = sentences.membership(precomputed["mask"], scores.dtype)
            full = sum_over_sentences(scores, precomputed["mask"], membership)
            exists = precomputed["count"] > 0  # (batch, sentences)
            distance = divergence(sharpen(full, self.config.temperature, exists), log_weights)  # (batch, heads, target)
            if self.config.divergence == "element":
                distance = distance / exists.sum(1).clamp_min(1)[:, None, None]
            losses["sparsity"] = mean_over_documents(entropy(full), mask)
            losses["selection"] = mean_over_documents(distance, mask)
            kept = (full.detach().exp() * selected[:, None]).sum(-1)
            metrics["kept"] = mean_over_documents(kept, mask)
            match self.config.training:
                case "full":
                    selected = torch.ones_like(selected)
                case "ideal":
                    selected = self._top_sentences(full)
                case "mix":
                    selected = torch.where(precomputed["ideal"][:, None, None], self._top_sentences(full), selected)
        visible = visible_words(selected, precomputed["index"], precomputed["mask"])
        bias = query.new_zeros(visible.shape).masked_fill(~visible, -torch.inf)[:, None]
        mixed = attend(query, key, value, precomputed["mask"], bias)
        return CrossAttentionOutput(self.out(merge_heads(mixed)), losses, metrics)

    def step(self, queries: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Attend from the newest token of every beam; only keys and values of selected sentences are read."""
        query = self._split_query(queries)  # (batch, heads, beams, head_dim)
        selected = self._top_sentences(self.selection(queries, query, precomputed))
        room = precomputed.get("room")
        most = None if room is None else queries.size(1) * room.size(1)
        words = (precomputed["words"], precomputed["mask"], precomputed["index"])
        mixed = attend_to_groups(query, *words, selected, most)
        output: Tensor = self.out(merge_heads(mixed))
        return output

    def attention_weights(self, queries: Tensor, precomputed: dict[str, Tensor], length: int) -> Tensor:
        """Compute the attention weights of whole summaries, 0 outside the selected sentences."""
        del length
        query, (key, _) = self._split_query(queries), self._split(precomputed["words"])
        selected = self._top_sentences(self.selection(queries, query, precomputed))
        visible = visible_words(selected, precomputed["index"], precomputed["mask"])
        bias = key.new_zeros(visible.shape).masked_fill(~visible, -torch.inf)[:, None]
        return softmax_scores(query, key, bias).nan_to_num()  # a document without states has none

    def _split(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Views of keys and values, (batch, heads, length, head_dim) each."""
        key, value = words.chunk(2, dim=-1)
        return split_heads(key, self.heads), split_heads(value, self.heads)

    def _top_sentences(self, log_weights: Tensor) -> Tensor:
        """Top-k sentences by weight, averaged over the heads: (batch, target, sentences), True at these."""
        mean = log_weights.logsumexp(1)  # (batch, target, sentences); -inf at sentences that do not exist
        best = mean.topk(min(self.config.sentences, mean.size(-1)), dim=-1).indices
        return torch.zeros_like(mean, dtype=torch.bool).scatter(2, best, value=True) & (mean > -torch.inf)


@final
class SentenceMemoryEncoder(MemoryEncoder):
    """Finds the sentences of the memory and encodes them once for all layers."""

    batches: Tensor

    def __init__(self, encoder: SentenceEncoder | None, mix_steps: int | None, selected: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.selected = selected
        self.mix_steps = mix_steps
        if mix_steps:
            self.register_buffer("batches", torch.zeros((), dtype=torch.long))  # saved with checkpoints

    def forward(self, memory: Tokens) -> dict[str, Tensor]:
        """Find and encode sentences.

        Returns:
            index, first and count of `Sentences`; vectors (batch, sentences, dim) where the selection needs them; in
            training with `mix`, ideal (batch,), True at documents whose ideal sentences are attended to in all layers;
            on a GPU room (batch, words), whose size is that of the most words that a query selects.
        """
        sentences = Sentences.find(memory)
        shared = {"index": sentences.index, "first": sentences.first, "count": sentences.count}
        if self.encoder is not None:
            shared["vectors"] = self.encoder(memory, sentences)
        if sentences.sizes is not None and memory.mask.is_cuda:
            longest = sentences.sizes.sort(dim=1, descending=True).values[:, : self.selected].sum(1)
            words = round_up(int(longest.max()), ROOM_MULTIPLE)
            shared["room"] = memory.mask.new_ones(len(memory.mask), words)
        if self.training and self.mix_steps:
            shared["ideal"] = torch.rand(len(memory.mask), device=memory.mask.device) >= self.batches / self.mix_steps
            self.batches += 1
        return shared
