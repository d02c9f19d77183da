"""Attribution of summary tokens to source tokens, from one forward pass under teacher forcing.

The output head's copy posterior says which source token a summary token was copied from. What was generated from the
vocabulary is attributed to the memory by cross-attention, averaged over heads and layers, and carried back through the
poolings by `sumpool.interpret.provenance`. What attention and feed-forward layers of the encoder mix between states is
not part of either. `sumpool evaluate --faithfulness` measures how faithful they are.

Cost: one decoder pass over the summary, and memory O(target * length) per document. No gradients are needed, so that
quantized models are attributed as they generate.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from sumpool.core.cross_attention._base import CrossAttention, CrossAttentionOutput
from sumpool.core.model.decoder import DecoderLayer
from sumpool.core.model.summarizer import Memory, SummarizationModel
from sumpool.data.batches import Batch, collate
from sumpool.data.shards import Item
from sumpool.interpret.provenance import compose_mixtures, provenance

Method = Literal["attention", "pointer", "both"]
"""Cross-attention alone, the copy posterior alone, or attention for what was not copied."""


@dataclass(frozen=True)
class Attribution:
    """Source weights of the tokens of one summary, in double precision and without padding.

    Attributes:
        attention: (target, source), cross-attention carried back to the source; rows sum to 1.
        copied: (target, source), probability that a token is a copy of a source token; rows sum to at most 1. Zeros
            for output heads that cannot copy.
        log_prob: (target,), log-probability of each token, in nats.
        kept: For each pooling, first to last, (source,): the weight of each source token in the pooled states.
    """

    attention: Tensor
    copied: Tensor
    log_prob: Tensor
    kept: tuple[Tensor, ...]

    def weights(self, method: Method = "both") -> Tensor:
        """Return the weights of a method, (target, source)."""
        if method == "attention":
            return self.attention
        if method == "pointer":
            return self.copied
        generated = (1 - self.copied.sum(1, keepdim=True)).clamp_min(0)
        return self.copied + generated * self.attention


@torch.inference_mode()
def attribute(model: SummarizationModel, batch: Batch) -> list[Attribution]:
    """Attribute the summaries of a batch to their documents.

    Args:
        model: Model in evaluation mode.
        batch: Documents with summaries, on the model's device.

    Raises:
        ValueError: If the batch has no summaries.
    """
    if batch.target is None:
        raise ValueError("batch must have summaries to attribute, got documents alone")
    memory = model.encode(batch.ids, batch.mask, batch.sentences)
    with _Inputs(model) as inputs:
        log_prob = model.score(memory, batch.target).log_prob
    attention = inputs.attention(memory.tokens.mask.size(1))  # (batch, target, memory)
    copy_cache = model.output.precompute(memory.ids, memory.source, memory.tokens, memory.mixtures)
    copied = model.output.copy_posterior(inputs.states, model.history(batch.target), copy_cache, batch.target)
    matrices = provenance(memory)
    attributions = []
    for row, matrix in enumerate(matrices):
        vectors, source = matrix.shape
        target = int((batch.target[row] != batch.pad).sum())
        weights = attention[row, :target, :vectors].cpu().double()
        weights = weights / weights.sum(1, keepdim=True)  # a head that sees none of few states attends to padding
        attributions.append(
            Attribution(
                attention=_carry_back(weights, matrix),
                copied=weights.new_zeros(target, source) if copied is None else _cut(copied[row], target, source),
                log_prob=log_prob[row, :target].cpu().double(),
                kept=kept_weights(memory, row),
            )
        )
    return attributions


@torch.inference_mode()
def pooling_weights(model: SummarizationModel, chunk: Item) -> tuple[Tensor, ...]:
    """Return the weight of each token of a chunk after each pooling, first to last, (length,) each."""
    batch = collate([chunk], model.config.source_length, 1, special_tokens=model.special_tokens)
    batch = batch.to(model.embedding.weight.device)
    return kept_weights(model.encode(batch.ids, batch.mask, batch.sentences), 0)


def kept_weights(memory: Memory, row: int) -> tuple[Tensor, ...]:
    """Return the weight of each source token of a document in the states after each pooling, (source,) each.

    A token that a pooling keeps alone has the weight 1, and one that it drops 0.
    """
    mixtures = [mixture() for mixture in memory.mixtures]
    source = int(memory.source.mask[row].sum())
    composed = (compose_mixtures(mixtures[:count], row, source) for count in range(1, len(mixtures) + 1))
    return tuple(
        weights.values().new_zeros(source).index_add(0, weights.indices()[1], weights.values()) for weights in composed
    )


def sum_by_sentence(weights: Tensor, target: Tensor, source: Tensor) -> Tensor:
    """Sum weights over the tokens of each summary sentence and of each source sentence.

    Args:
        weights: (target, source).
        target: (target,), sentence number of each summary token.
        source: (source,), sentence number of each source token.

    Returns:
        (summary sentences, source sentences), as many as the largest numbers say.
    """
    rows = weights.new_zeros(int(target.max()) + 1, weights.size(1)).index_add(0, target, weights)
    return rows.new_zeros(len(rows), int(source.max()) + 1).index_add(1, source, rows)


def content_tokens(model: SummarizationModel, chunk: Item) -> Tensor:
    """Return 0 at the special tokens around a chunk and 1 elsewhere, (length,)."""
    special_tokens = model.special_tokens
    content = torch.ones(len(chunk.ids), dtype=torch.float64)
    content[: len(special_tokens.prefix)] = 0
    if special_tokens.suffix and chunk.ids[-1] == special_tokens.suffix[-1]:
        content[-len(special_tokens.suffix) :] = 0
    return content


def _carry_back(weights: Tensor, matrix: Tensor) -> Tensor:
    """Multiply weights (target, vectors) by a coalesced sparse matrix (vectors, source)."""
    vectors, source = matrix.indices()
    carried = weights.new_zeros(len(weights), matrix.size(1))
    return carried.index_add(1, source, weights[:, vectors] * matrix.values())


def _cut(weights: Tensor, target: int, source: int) -> Tensor:
    return weights[:target, :source].cpu().double()


class _Inputs:
    """Inputs of the cross-attentions and output of the decoder, recorded while the context is open."""

    def __init__(self, model: SummarizationModel) -> None:
        self._decoder = model.decoder
        self._layers = [layer.cross_attention for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]
        self._queries: list[tuple[Tensor, dict[str, Tensor]]] = []
        self._hooks: list[Any] = []
        self.states = torch.empty(0)

    def __enter__(self) -> "_Inputs":
        for layer in self._layers:
            self._hooks.append(layer.register_forward_pre_hook(self._record_queries))
        self._hooks.append(self._decoder.register_forward_hook(self._record_states))
        return self

    def __exit__(self, *_: object) -> None:
        for hook in self._hooks:
            hook.remove()

    def attention(self, length: int) -> Tensor:
        """Mean attention over heads and layers, (batch, target, length)."""
        weights = [
            layer.attention_weights(queries, precomputed, length).mean(1)
            for layer, (queries, precomputed) in zip(self._layers, self._queries, strict=True)
        ]
        return torch.stack(weights).mean(0)

    def _record_queries(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        assert isinstance(module, CrossAttention)
        self._queries.append((inputs[0], inputs[1]))

    def _record_states(self, module: nn.Module, inputs: tuple[Any, ...], output: CrossAttentionOutput) -> None:
        del module, inputs
        self.states = output.states
