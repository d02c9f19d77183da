"""Batches of documents cut into blocks, packed without padding.

Full blocks are grouped into chunks; the last, shorter blocks of documents are grouped with blocks of similar length,
padded to the longest of the chunk. The cost of a batch therefore follows its real tokens, whatever the lengths of its
documents, and the activations of a chunk fit into the processor's cache.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import final

import torch
from torch import Tensor

from sumpool.core.nn.numerics import to_device
from sumpool.core.tokens import Tokens


@dataclass(frozen=True)
class Block:
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
        self.columns = [
            *(block.document for block in blocks),
            *(block.first for block in blocks),
            *self.sizes,
        ]
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
            tokens,
            states=tokens.states[index],
            mask=self.mask,
            positions=tokens.positions[index],
            sentences=tokens.sentences[index],
            words=tokens.words[index],
            ids=tokens.ids[index],
            origin=tokens.origin[index],
            phrases=None if tokens.phrases is None else tokens.phrases[index],
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
        self._place(mask)

    def _place(self, mask: Tensor) -> None:
        """Copy the layout of all chunks to the device of a mask at once, and compute their indices there."""
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
            return self._documents(self._zeros(rows).index_copy(0, indices, rows))
        joined: Tensor | None = None
        for chunk, value in zip(self.chunks, values, strict=True):
            joined = self.write(chunk, value, joined)
        assert joined is not None, "there is always a chunk"
        return joined

    def write(self, chunk: Chunk, values: Tensor, joined: Tensor | None) -> Tensor:
        """Write the values of a chunk into `joined` (batch, length, ...), or into zeros where it is None."""
        rows = chunk.drop_padding(values)
        if joined is None:
            joined = self._documents(self._zeros(rows))
        joined.flatten(0, 1)[chunk.flat_indices] = rows
        return joined

    def _zeros(self, rows: Tensor) -> Tensor:
        return rows.new_zeros(self.shape.numel(), *rows.shape[1:])

    def _documents(self, rows: Tensor) -> Tensor:
        return rows.view(*self.shape, *rows.shape[1:])


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
