"""Chunked encoding: the encoder's layers over blocks of real tokens, in bounded memory.

Second implementation of the loop in `Encoder`, with equal results. Attention that stays inside blocks lets a document
run through several layers block by block. Blocks of all documents of a batch are packed into chunks without padding, so
that a batch costs what its real tokens cost, and the activations of a chunk are small enough to stay in the processor's
cache. Without gradients, states of documents that exceed a memory budget are computed twice instead of stored.
"""

import math
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import final

import torch

from sumpool.core.model.blocks import Blocks
from sumpool.core.model.pooling_trace import PoolingTrace, drop_features
from sumpool.core.model.streaming import StreamedStates
from sumpool.core.pooling._base import Pooler
from sumpool.core.tokens import Tokens


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


@final
@dataclass(frozen=True)
class ChunkedEncoding:
    """Encodes batches chunk by chunk.

    Attributes:
        groups: The encoder's layers.
        poolers: Pooler after each pooled layer, by the index of the layer.
        run_layers: Applies the layers of a range to documents, or to blocks as if they were documents.
        state_bytes: Size of one state.
    """

    groups: Sequence[LayerGroup]
    poolers: dict[int, Pooler]
    run_layers: Callable[[Tokens, range], Tokens]
    state_bytes: int

    def encode(self, tokens: Tokens, trace: PoolingTrace) -> Tokens:
        """Apply all layers and poolers to a batch, whose states the first layers make."""
        for group in self.groups:
            tokens = tokens.with_lengths()
            layer = group.layers[-1]
            pooler = self.poolers.get(layer)
            if group.block is None:
                tokens = self.run_layers(tokens, group.layers)
            else:
                states = self._stream(tokens, group.layers, group.block, trace)
                if pooler is not None and not trace.keep_inputs and not torch.is_grad_enabled():
                    pooled = pooler(tokens, states)
                    trace.source = trace.source or tokens.with_states(states.projected())
                    tokens = trace.record(pooled, layer)
                    continue
                tokens = states.all()
            if pooler is not None:
                tokens = trace.pool(pooler, tokens, layer)
        return tokens

    def _stream(self, tokens: Tokens, layers: range, block: int, trace: PoolingTrace) -> StreamedStates:
        """Prepare a group of layers to be applied block by block on demand."""
        assert tokens.lengths is not None, "chunks are not exported"
        budget = GPU_BUDGET if tokens.mask.is_cuda else CPU_BUDGET
        return StreamedStates(
            tokens,
            Blocks(tokens.mask, block, budget.chunk // self.state_bytes, tokens.lengths),
            run_layers=lambda chunk: self.run_layers(chunk, layers),
            projection=trace.project_source if trace.source is None else drop_features,
            store=tokens.mask.size(1) * self.state_bytes <= budget.document,
        )
