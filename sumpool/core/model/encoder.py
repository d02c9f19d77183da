"""The encoder: self-attention layers with poolers between them.

Chunked encoding is an alternative to whole padded documents, with equal results. Attention that stays inside blocks
lets a document run through several layers block by block. Full blocks of all documents of a batch are grouped into
chunks; the last, shorter blocks are grouped with blocks of similar length, padded to the longest of the chunk. A batch
therefore costs what its real tokens cost, whatever the lengths of its documents, and the activations of a chunk are
small enough to stay in the processor's cache.
"""

import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, final

import torch
from torch import Tensor, nn

from sumpool.core.attention._base import SoftmaxAttention
from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.core.model.kv_cache import padded_keys
from sumpool.core.nn.layers import FeedForward, Residual, run_layer
from sumpool.core.nn.numerics import to_device
from sumpool.core.nn.positions import Embed
from sumpool.core.nn.states import Mixture, Mixtures
from sumpool.core.pooling._base import Pooled, Pooler
from sumpool.core.tokens import AttentionReceived, Tokens

CPU_CHUNK_BYTES = 6 * 2**20
"""States of a chunk, 2,048 of dim 768; linear maps run fastest at 512 to 2,048 rows, and the output of one is still in
the cache when the next one reads it."""
GPU_CHUNK_BYTES = 2**28
"""States of a chunk, 87,381 of dim 768, which saturate any device."""

Projection = Callable[[Tensor], Tensor]
"""Map of each state by itself: (..., dim) -> (..., features)."""


@final
class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, each with a residual connection: Tokens -> Tokens of the same length."""

    def __init__(self, layer: EncoderLayerConfig, model: ModelConfig) -> None:
        super().__init__()
        self.attention = layer.attention.build(model.dim, model.heads)
        self.feed_forward = FeedForward(model.dim, model.feed_forward, model.activation)
        self.attention_residual = Residual(model.dim, model.norm, model.dropout)
        self.feed_forward_residual = Residual(model.dim, model.norm, model.dropout)

    def forward(self, tokens: Tokens) -> Tokens:
        """Apply the layer to documents (batch, length), or to blocks of documents as if they were documents."""
        states = tokens.zero_padded().states
        prepared = tokens.with_states(self.attention_residual.prepare(states))
        states = self.attention_residual.add(states, self.attention(prepared))
        received = None
        if isinstance(self.attention, SoftmaxAttention):
            received = partial(self.attention.attention_received, prepared)
        states = self.feed_forward_residual(states, self.feed_forward)
        return replace(tokens, states=states, attention_received=received)


@dataclass(frozen=True)
class Memory:
    """Encoded documents, input of the decoder.

    Attributes:
        tokens: Output of the encoder, the input of cross-attention.
        source: States before the first pooling, one for each source token, projected by the output head.
        mixtures: Weights of each pooling, first to last; empty where `restore` has undone them.
    """

    tokens: Tokens
    source: Tokens
    mixtures: Mixtures = ()

    @classmethod
    def join(cls, memories: Sequence["Memory"]) -> "Memory":
        """Batch the memories of one or more documents each, padded as `padded_keys` says."""
        kept, length = (max(sizes) for sizes in zip(*(memory.size for memory in memories), strict=True))
        kept = padded_keys(kept)
        padded = [memory.padded(kept, length) for memory in memories]
        poolings = zip(*(memory.mixtures for memory in padded), strict=True)
        return cls(
            Tokens.join([memory.tokens for memory in padded]),
            Tokens.join([memory.source for memory in padded]),
            [partial(Mixture.join_computed, parts) for parts in poolings],
        )

    @property
    def size(self) -> tuple[int, int]:
        """Number of pooled states and of source tokens of each document, padding included."""
        return self.tokens.mask.size(1), self.source.mask.size(1)

    def padded(self, kept: int, length: int) -> "Memory":
        """Pad to `kept` pooled states and `length` source tokens; results do not change."""
        mixtures = list(self.mixtures)
        if mixtures:  # the last pooling has made the states that are padded
            last = mixtures[-1]
            mixtures[-1] = lambda: last().padded(kept)
        return Memory(self.tokens.padded(kept), self.source.padded(length), mixtures)


@final
class Encoder(nn.Module):
    """Transformer encoder over whole documents.

    Attributes:
        chunked: Whether documents are encoded in chunks of blocks, with equal results. By default they are where any
            layer attends inside blocks: time then follows the real tokens of a batch.
    """

    word_starts: Tensor

    def __init__(self, config: ModelConfig, embedding: nn.Embedding, word_starts: Tensor) -> None:
        super().__init__()
        self.embed = config.build_embed(embedding, config.positions, config.source_length)
        self.restore = config.restore
        self.checkpoint_activations = False
        layers = [EncoderLayer(layer, config) for layer in config.encoder]
        self.layers = nn.ModuleList(layers)
        self.poolers = nn.ModuleDict(
            {str(index): layer.pool.build(embedding) for index, layer in enumerate(config.encoder) if layer.pool}
        )
        self.norm = nn.LayerNorm(config.dim) if config.norm == "pre" else nn.Identity()
        self.register_buffer("word_starts", word_starts, persistent=False)
        pooled = [index for index, layer in enumerate(config.encoder) if layer.pool]
        self.groups = group_layers([layer.attention.block for layer in layers], pooled)
        self.chunked = any(block for _, block in self.groups)

    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        sentences: Tensor,
        phrases: Tensor | None = None,
        project_source: Projection = lambda states: states,
        *,
        lengths: Sequence[int] | None = None,
    ) -> Memory:
        """Encode documents.

        Args:
            ids: (batch, length).
            mask: (batch, length), True at real tokens.
            sentences: (batch, length), sentence number of each token.
            phrases: (batch, length), phrase number of each token, the reference of learned boundaries.
            project_source: Projection applied to each state before the first pooling (e.g. the pointer's keys).
            lengths: Real tokens of each document; None reads them from the mask, for which the host waits.
        """
        words = self.word_starts[ids].cumsum(1)
        no_states = self.embed.embedding.weight.new_empty(*ids.shape, 0)
        tokens = Tokens.from_source(no_states, mask, sentences, words, ids, phrases).with_lengths(lengths)
        poolers = {int(name): pooler for name, pooler in self.poolers.items() if isinstance(pooler, Pooler)}
        state_bytes = self.embed.embedding.embedding_dim * self.embed.embedding.weight.element_size()
        source: Tokens | None = None
        pooled_tokens: list[Tokens] = []  # input of each pooling, which `restore` needs
        mixtures: list[Callable[[], Mixture]] = []
        losses: dict[str, Tensor] = {}
        metrics: dict[str, Tensor] = {}
        for layers, block in self.groups:
            tokens, layer = tokens.with_lengths(), layers[-1]
            run_layers = partial(self._run_layers, layers=layers)
            if block is not None and self.chunked:
                tokens = run_in_blocks(tokens, block, run_layers, state_bytes)
            else:
                tokens = run_layers(tokens).zero_padded()  # whole documents
            if layer not in poolers:
                continue
            if source is None:
                source = replace(tokens, states=project_source(tokens.states), attention_received=None)
            pooled: Pooled = poolers[layer](tokens)
            if self.restore:
                pooled_tokens.append(tokens)
            mixtures.append(pooled.mixture)
            for name, loss in pooled.tokens.losses.items():
                losses[name] = losses[name] + loss if name in losses else loss
            metrics |= {f"layer_{layer + 1}.{name}": value for name, value in pooled.tokens.metrics.items()}
            tokens = replace(pooled.tokens, losses={}, metrics={})
        if source is None:
            source = tokens.with_states(project_source(tokens.states))
        if pooled_tokens:  # undo the poolings, last to first, and add the input of the first one (Dai et al., 2020)
            states = tokens.states
            for before, mixture in zip(reversed(pooled_tokens), reversed(mixtures), strict=True):
                states = mixture().upsample(states, before.mask.size(1))
            tokens, mixtures = pooled_tokens[0].with_states(pooled_tokens[0].states + states), []
        memory = replace(tokens, states=self.norm(tokens.states), losses=losses, metrics=metrics)
        return Memory(memory, source, mixtures)

    def _run_layers(self, tokens: Tokens, layers: range) -> Tokens:
        """Apply some layers to documents, or to blocks as if they were documents; embed the input of the first."""
        if layers.start == 0:
            tokens = tokens.with_states(self.embed(tokens.ids, tokens.mask, tokens.positions))
        for index in layers:
            tokens = run_layer(self.layers[index], tokens, checkpointed=self.checkpoint_activations)
        return tokens


def initialise_linear(parts: Iterable[nn.Module]) -> None:
    """Initialise the linear layers of modules by Xavier, without bias."""
    for part in parts:
        for module in part.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)


def initialise_embeddings(embedding: nn.Embedding, inputs: Iterable[Embed], pad: int) -> None:
    """Initialise embeddings of tokens and positions with unit length on average, and that of padding with zeros."""
    std = embedding.embedding_dim**-0.5
    nn.init.normal_(embedding.weight, std=std)
    for embed in inputs:
        if embed.positions is not None:
            nn.init.normal_(embed.positions.weight, std=embed.scale * std)
    with torch.no_grad():
        embedding.weight[pad].zero_()


def group_layers(blocks: Iterable[int | None], pooled: Container[int]) -> list[tuple[range, int | None]]:
    """Group consecutive layers without a pooling between them, as far as blocks may run through them separately.

    Args:
        blocks: `Attention.block` of each layer, first to last.
        pooled: Indices of the layers after which states are pooled.

    Returns:
        Of each group the indices of its layers, and the tokens of the blocks in which documents may run through all of
        them separately; None where a document has to run through them whole.
    """
    groups: list[tuple[range, int | None]] = []
    for index, block in enumerate(blocks):
        start = index
        if groups and index - 1 not in pooled and (groups[-1][1] is None) == (block is None):
            previous, size = groups.pop()
            start = previous.start
            block = size and block and math.lcm(size, block)
        groups.append((range(start, index + 1), block))
    return groups


class Block(NamedTuple):
    """Consecutive tokens of one document: its index in the batch, index of the first token, number of tokens."""

    document: int
    first: int
    size: int


@final
class Chunk:
    """Blocks that run through the layers together, as if they were documents.

    Attributes:
        sizes: Real tokens of each block, the longest first.
        full: Whether no block is padded.
        mask: (blocks, width), True at real tokens.
    """

    def __init__(self, blocks: Sequence[Block], documents: Tensor, block_size: int) -> None:
        """Compute indices of tokens.

        Args:
            blocks: At least one, the longest first.
            documents: (batch, length), mask of the documents.
            block_size: Tokens of a block that is not the last one of its document.
        """
        self.sizes = [block.size for block in blocks]
        self._length = documents.size(1)
        document, first, size = to_device(torch.tensor(blocks), documents).T[..., None]  # (blocks, 1) each
        width = max(1, self.sizes[0])
        self.full = self.sizes[-1] == width
        if not torch.is_grad_enabled():
            # Batch mates change neither the order in which attention adds up keys, nor whether it has a mask.
            width = min(padded_keys(width), block_size)
            self.full = self.sizes[-1] == block_size
        offset = torch.arange(width, device=documents.device)
        self.mask = offset < size
        self._document, self._index = document, first + offset  # index of each token in its document
        self._rows: Tensor | None = None  # indices of the real tokens in the flattened chunk; None where all are real
        if not self.full:  # on the host, which would wait for the mask
            is_real = torch.arange(width) < torch.tensor(self.sizes)[:, None]
            self._rows = to_device(is_real.flatten().nonzero()[:, 0], documents)

    @property
    def flat_indices(self) -> Tensor:
        """Indices of the real tokens in the flattened batch, (real,)."""
        return self.drop_padding(self._document * self._length + self._index)

    def gather(self, tokens: Tokens) -> Tokens:
        """Gather the blocks from their documents: (batch, length) -> (blocks, width)."""
        index = (self._document, self._index.clamp(max=self._length - 1))
        return replace(
            tokens.map_origins(lambda values: values[index]),
            states=tokens.states[index],
            mask=self.mask,
            first=self._index[:, 0],
            lengths=self.sizes,
            full=self.full,
        )

    def drop_padding(self, values: Tensor) -> Tensor:
        """Flatten the values of real tokens: (blocks, width, ...) -> (real, ...)."""
        rows = values.flatten(0, 1)
        return rows if self._rows is None else rows.index_select(0, self._rows)


def make_chunks(mask: Tensor, block: int, max_tokens: int, lengths: Sequence[int]) -> list[Chunk]:
    """Cut documents into blocks and group these into chunks; full blocks are kept apart, since they need no mask.

    Args:
        mask: (batch, length), True at real tokens, which stand first.
        block: Tokens of a block; the last one of a document may be shorter.
        max_tokens: Tokens of a chunk; a single block may be longer.
        lengths: Real tokens of each document.
    """
    blocks = [
        Block(document, first, min(block, size - first))
        for document, size in enumerate(lengths)
        for first in range(0, size, block)
    ] or [Block(0, 0, 0)]
    blocks.sort(key=lambda block: block.size, reverse=True)
    groups: list[list[Block]] = [[]]
    for part in blocks:
        longest = groups[-1][0].size if groups[-1] else part.size
        if (len(groups[-1]) + 1) * longest > max_tokens or part.size < longest == block:
            groups.append([])
        groups[-1].append(part)
    return [Chunk(group, mask, block) for group in groups if group]


def join_chunks(chunks: Sequence[Chunk], values: Iterable[Tensor], documents: Tensor) -> Tensor:
    """Join the values of all chunks, (blocks, width, ...) each, to documents (batch, length, ...), 0 at padding.

    Without gradients, values are written as soon as they are computed, so that few are held at a time.
    """
    if torch.is_grad_enabled():
        rows = torch.cat([chunk.drop_padding(value) for chunk, value in zip(chunks, values, strict=True)])
        indices = torch.cat([chunk.flat_indices for chunk in chunks])
        zeros = rows.new_zeros(documents.numel(), *rows.shape[1:])
        return zeros.index_copy(0, indices, rows).view(*documents.shape, *rows.shape[1:])
    joined: Tensor | None = None
    for chunk, value in zip(chunks, values, strict=True):
        rows = chunk.drop_padding(value)
        if joined is None:
            joined = rows.new_zeros(*documents.shape, *rows.shape[1:])
        joined.flatten(0, 1)[chunk.flat_indices] = rows
    assert joined is not None, "there is always a chunk"
    return joined


def run_in_blocks(tokens: Tokens, block: int, run_layers: Callable[[Tokens], Tokens], state_bytes: int) -> Tokens:
    """Run documents through layers block by block, and join the states; differentiable.

    Args:
        tokens: The documents, input of the layers, with `lengths`.
        block: Tokens of the blocks in which they run through the layers.
        run_layers: Computes the states of a chunk.
        state_bytes: Size of one state.
    """
    assert tokens.lengths is not None, "chunks are not exported"
    budget = GPU_CHUNK_BYTES if tokens.mask.is_cuda else CPU_CHUNK_BYTES
    chunks = make_chunks(tokens.mask, block, budget // state_bytes, tokens.lengths)
    attention_received: list[AttentionReceived] = []

    def chunk_states() -> Iterator[Tensor]:
        for chunk in chunks:
            output = run_layers(chunk.gather(tokens))
            assert output.attention_received is not None
            attention_received.append(output.attention_received)
            yield output.states

    return replace(
        tokens,
        states=join_chunks(chunks, chunk_states(), tokens.mask),
        attention_received=lambda include_self: join_chunks(
            chunks, (compute(include_self) for compute in attention_received), tokens.mask
        ),
    )
