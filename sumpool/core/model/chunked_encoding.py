"""Chunked encoding: the encoder's layers over blocks of real tokens, in bounded memory.

An alternative to whole padded documents, with equal results. Attention that stays inside blocks lets a document
run through several layers block by block. Full blocks of all documents of a batch are grouped into chunks; the last,
shorter blocks are grouped with blocks of similar length, padded to the longest of the chunk. A batch therefore costs
what its real tokens cost, whatever the lengths of its documents, and the activations of a chunk are small enough to
stay in the processor's cache.

A pooler with a scorer requests first the scores and then, once these determine which states are combined with which
weight, the weighted sums. Without gradients, states of documents that exceed a memory budget are computed twice: they
are recomputed for the sums, to which each chunk adds before it is freed. Time is that of two encoder passes; memory is
that of a few chunks, of some numbers per token, and of the pooled states.
"""

import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, final

import torch
from torch import Tensor

from sumpool.core.nn.numerics import to_device
from sumpool.core.nn.states import Mixture, States
from sumpool.core.tokens import AttentionReceived, Tokens


@dataclass(frozen=True)
class MemoryBudget:
    """Bytes that states may take.

    Attributes:
        chunk: Of all blocks that run through the layers together.
        document: Of one padded document; states of longer documents are recomputed instead of stored where possible.
    """

    chunk: int
    document: int


CPU_BUDGET = MemoryBudget(chunk=6 * 2**20, document=2**29)
"""Chunk: 2,048 states of dim 768; linear maps run fastest at 512 to 2,048 rows, and the output of one is still in the
cache when the next one reads it. Document: 174,762 states of dim 768."""
GPU_BUDGET = MemoryBudget(chunk=2**28, document=2**33)
"""Chunk: 87,381 states of dim 768 saturate any device. Document: 2,796,202 states of dim 768, on a device of tens of
gigabytes."""


@dataclass(frozen=True)
class LayerGroup:
    """Consecutive layers without a pooling between them.

    Attributes:
        layers: Their indices.
        block: Tokens of the blocks in which documents may run through all of them separately; None where a document
            has to run through them whole.
    """

    layers: range
    block: int | None


def group_layers(blocks: Iterable[int | None], pooled: Container[int]) -> list[LayerGroup]:
    """Group layers as far as blocks may run through them separately.

    Args:
        blocks: `Attention.block` of each layer, first to last.
        pooled: Indices of the layers after which states are pooled.
    """
    groups: list[LayerGroup] = []
    for index, block in enumerate(blocks):
        start = index
        if groups and index - 1 not in pooled and (groups[-1].block is None) == (block is None):
            previous = groups.pop()
            start = previous.layers.start
            block = previous.block and block and math.lcm(previous.block, block)
        groups.append(LayerGroup(range(start, index + 1), block))
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
        sizes: Real tokens of each block.
        columns: Document, index of the first token and size of each block.
        rows: Indices of the real tokens in the flattened chunk, (real,); None where all are real.
        mask: (blocks, longest), True at real tokens.
        full: Whether no block is padded.
    """

    def __init__(self, blocks: Sequence[Block], length: int) -> None:
        """Prepare; mask and indices are known after `place`.

        Args:
            blocks: At least one, the longest first.
            length: Length of the documents, padding included.
        """
        self.sizes = [block.size for block in blocks]
        self.full = blocks[-1].size == blocks[0].size > 0
        self._length = length
        self.columns = list(chain.from_iterable(zip(*blocks, strict=True)))
        self.rows: Tensor | None = None
        if not self.full:
            size = torch.tensor(self.sizes)[:, None]
            self.rows = (torch.arange(max(1, self.sizes[0])) < size).flatten().nonzero()[:, 0]

    def place(self, columns: Tensor, rows: Tensor | None) -> None:
        """Compute the indices of the blocks' tokens from `columns` and `rows` on the device of the documents."""
        document, first, size = columns.view(3, -1, 1).unbind()
        offset = torch.arange(max(1, self.sizes[0]), device=columns.device)
        self.mask = offset < size  # (blocks, longest)
        self.rows = rows
        self._document, self._index = document, first + offset  # index of each token in its document

    @property
    def flat_indices(self) -> Tensor:
        """Indices of the real tokens in the flattened batch, (real,)."""
        return self.drop_padding(self._document * self._length + self._index)

    def gather(self, tokens: Tokens) -> Tokens:
        """Gather the blocks from their documents: (batch, length) -> (blocks, longest)."""
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
        """Flatten the values of real tokens: (blocks, longest, ...) -> (real, ...)."""
        rows = values.flatten(0, 1)
        return rows if self.rows is None else rows.index_select(0, self.rows)


@final
class Blocks:
    """The non-empty blocks of a batch, in chunks."""

    def __init__(self, mask: Tensor, block: int, max_tokens: int, lengths: Sequence[int]) -> None:
        """Cut documents into blocks and group these into chunks.

        Args:
            mask: (batch, length), True at real tokens, which stand first.
            block: Tokens of a block; the last one of a document may be shorter.
            max_tokens: Tokens of a chunk; a single block may be longer.
            lengths: Real tokens of each document.
        """
        self.shape = mask.shape
        block = max(1, min(block, mask.size(1)))
        blocks = [
            Block(document, first, min(block, size - first))
            for document, size in enumerate(lengths)
            for first in range(0, size, block)
        ] or [Block(0, 0, 0)]
        blocks.sort(key=lambda block: block.size, reverse=True)
        self.chunks = [Chunk(group, mask.size(1)) for group in _group(blocks, max_tokens)]
        # The layout of all chunks is copied to the device at once.
        columns, rows = [chunk.columns for chunk in self.chunks], [chunk.rows for chunk in self.chunks]
        layout = torch.tensor(list(chain.from_iterable(columns)))
        padded = [part for part in rows if part is not None]
        if padded:
            layout = torch.cat([layout, *padded])
        parts = iter(to_device(layout, mask).split([*map(len, columns), *map(len, padded)]))
        placed = [next(parts) for _ in columns]
        for chunk, part in zip(self.chunks, placed, strict=True):
            chunk.place(part, None if chunk.full else next(parts))

    def join(self, values: Iterable[Tensor]) -> Tensor:
        """Join the values of all chunks, (blocks, longest, ...) each, to documents (batch, length, ...), 0 at padding.

        Without gradients, values are written as soon as they are computed, so that few are held at a time.
        """
        if torch.is_grad_enabled():
            rows = torch.cat([chunk.drop_padding(value) for chunk, value in zip(self.chunks, values, strict=True)])
            indices = torch.cat([chunk.flat_indices for chunk in self.chunks])
            zeros = rows.new_zeros(self.shape.numel(), *rows.shape[1:])
            return zeros.index_copy(0, indices, rows).view(*self.shape, *rows.shape[1:])
        joined: Tensor | None = None
        for chunk, value in zip(self.chunks, values, strict=True):
            joined = self.write(chunk, value, joined)
        assert joined is not None, "there is always a chunk"
        return joined

    def write(self, chunk: Chunk, values: Tensor, joined: Tensor | None) -> Tensor:
        """Write the values of a chunk into `joined` (batch, length, ...), or into zeros where it is None."""
        rows = chunk.drop_padding(values)
        if joined is None:
            joined = rows.new_zeros(*self.shape, *rows.shape[1:])
        joined.flatten(0, 1)[chunk.flat_indices] = rows
        return joined


def _group(blocks: Sequence[Block], max_tokens: int) -> Iterator[Sequence[Block]]:
    """Group blocks, the longest first, into chunks; full blocks are kept apart, since they need no mask."""
    chunk: list[Block] = []
    for block in blocks:
        too_long = (len(chunk) + 1) * chunk[0].size > max_tokens if chunk else False
        if too_long or (chunk and block.size < chunk[0].size == blocks[0].size):
            yield chunk
            chunk = []
        chunk.append(block)
    yield chunk


@final
class StreamedStates(States):
    """States that layers compute from blocks; scores and weighted sums carry no gradient."""

    def __init__(
        self,
        tokens: Tokens,
        block: int,
        run_layers: Callable[[Tokens], Tokens],
        projection: Callable[[Tensor], Tensor],
        state_bytes: int,
    ) -> None:
        """Prepare; nothing is computed yet.

        Args:
            tokens: The documents, input of the layers, with `lengths`.
            block: Tokens of the blocks in which they run through the layers.
            run_layers: Computes the states of a chunk.
            projection: Projection of each state that `projected` returns, (..., dim) -> (..., features).
            state_bytes: Size of one state. Of documents beyond the budget not the scored states are stored for the
                weighted sums, but only their projection.
        """
        assert tokens.lengths is not None, "chunks are not exported"
        budget = GPU_BUDGET if tokens.mask.is_cuda else CPU_BUDGET
        self._tokens = tokens
        self._blocks = Blocks(tokens.mask, block, budget.chunk // state_bytes, tokens.lengths)
        self._run_layers = run_layers
        self._projection = projection
        self._store = tokens.mask.size(1) * state_bytes <= budget.document
        self._states: Tensor | None = None
        self._projected: Tensor | None = None

    def score(self, scorer: Callable[[Tokens], Tensor]) -> Tensor:
        """Score one chunk after another."""
        scores: Tensor | None = None
        stored: Tensor | None = None
        for chunk, output in self._outputs():
            # Written into one tensor each: small tensors between large ones would fragment memory.
            scores = self._blocks.write(chunk, scorer(output), scores)
            values = output.states if self._store else self._projection(output.states)
            stored = self._blocks.write(chunk, values, stored)
        if self._store:
            self._states = stored
        else:
            self._projected = stored
        assert scores is not None, "there is always a chunk"
        return scores

    def mix(self, mixture: Mixture) -> Tensor:
        """Combine the stored states, or recompute them and add one chunk after another to the weighted sums."""
        if self._states is not None:
            return mixture.combine(self._states)
        shape, length = mixture.mask.shape, self._tokens.mask.size(1)
        used = mixture.weights != 0  # (batch, keep, members)
        offsets = length * torch.arange(len(used), device=used.device)  # of the documents in the flattened batch
        members = (mixture.members + offsets[:, None, None])[used]
        target = members.new_zeros(len(used) * length)  # index of the sum that each state is added to
        target[members] = used.flatten(0, 1).nonzero()[:, 0]
        weight = mixture.weights.new_zeros(len(target))
        weight[members] = mixture.weights[used]
        sums: Tensor | None = None
        for chunk, output in self._outputs():
            states, indices = chunk.drop_padding(output.states), chunk.flat_indices
            sums = states.new_zeros(shape.numel(), states.size(1)) if sums is None else sums
            sums.index_add_(0, target[indices], states * weight[indices, None].to(states.dtype))
        assert sums is not None, "there is always a chunk"
        return sums.view(*shape, -1)

    def all(self) -> Tokens:
        """Join the states of all chunks to documents; differentiable."""
        attention_received: list[AttentionReceived] = []

        def chunk_states() -> Iterator[Tensor]:
            for _, output in self._outputs():
                assert output.attention_received is not None
                attention_received.append(output.attention_received)
                yield output.states

        self._states = self._blocks.join(chunk_states())
        return replace(
            self._tokens,
            states=self._states,
            attention_received=lambda include_self: self._blocks.join(
                compute(include_self) for compute in attention_received
            ),
        )

    def projected(self) -> Tensor:
        """Return the projection of each state (batch, length, features), after `score` or `all`."""
        if self._states is not None:
            return self._projection(self._states)
        assert self._projected is not None, "states must be computed before their projection is known"
        return self._projected

    def _outputs(self) -> Iterator[tuple[Chunk, Tokens]]:
        """Run each chunk through the layers on demand."""
        return ((chunk, self._run_layers(chunk.gather(self._tokens))) for chunk in self._blocks.chunks)
