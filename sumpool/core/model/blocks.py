"""Documents taken apart into blocks, so that layers whose attention stays inside blocks run over real tokens alone.

Blocks that are full travel together in chunks; those that a document ends in travel with others about as long, cut to
the longest of them. A batch therefore costs what its tokens cost, however different its documents are, and a chunk's
activations are small enough to stay near the processor.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor

from sumpool.core.tokens import Tokens


@dataclass(frozen=True)
class Block:
    """Consecutive tokens of one document: which document, where they begin, and how many they are."""

    document: int
    first: int
    size: int


@final
class Chunk:
    """Blocks that travel together, as if they were documents."""

    def __init__(self, blocks: Sequence[Block], length: int, device: torch.device) -> None:
        """Lay out.

        Args:
            blocks: At least one, the longest first.
            length: Of the documents, padding included.
            device: Where the documents are.
        """
        self.full = blocks[-1].size == blocks[0].size > 0
        document, first, size = torch.tensor([(each.document, each.first, each.size) for each in blocks]).T
        inside = torch.arange(max(1, blocks[0].size))
        mask = inside < size[:, None]  # (blocks, longest)
        self.mask = mask.to(device)
        self._real = None if self.full else mask.flatten().nonzero()[:, 0].to(device)  # no need to ask the device
        self._document = document[:, None].to(device)
        self._number = (first[:, None] + inside).to(device)  # (blocks, longest), place of each token in its document
        self._length = length

    @property
    def places(self) -> Tensor:
        """Where the real tokens stand when the documents are laid end to end, (real,)."""
        return self.real(self._document * self._length + self._number)

    def take(self, tokens: Tokens) -> Tokens:
        """Take the blocks out of their documents: (batch, length) -> (blocks, longest)."""
        where = (self._document, self._number.clamp(max=self._length - 1))
        return replace(
            tokens,
            states=tokens.states[where],
            mask=self.mask,
            positions=tokens.positions[where],
            sentences=tokens.sentences[where],
            words=tokens.words[where],
            ids=tokens.ids[where],
            origin=tokens.origin[where],
            phrases=None if tokens.phrases is None else tokens.phrases[where],
            first=self._number[:, 0],
            full=self.full,
        )

    def real(self, values: Tensor) -> Tensor:
        """Lay the values of all real tokens end to end: (blocks, longest, ...) -> (real, ...)."""
        rows = values.flatten(0, 1)
        return rows if self._real is None else rows.index_select(0, self._real)


@final
class Blocks:
    """The real blocks of a batch, in chunks."""

    def __init__(self, mask: Tensor, block: int, most: int) -> None:
        """Cut.

        Args:
            mask: (batch, length), True at real tokens, which stand first.
            block: Tokens of a block; a document's last one may be shorter.
            most: Tokens of a chunk; one block may be longer.
        """
        self.shape = mask.shape
        block = max(1, min(block, mask.size(1)))
        cut = [
            Block(document, first, min(block, size - first))
            for document, size in enumerate(mask.sum(1).tolist())
            for first in range(0, size, block)
        ]
        cut.sort(key=lambda each: each.size, reverse=True)
        self.chunks = [Chunk(each, mask.size(1), mask.device) for each in _fill(cut or [Block(0, 0, 0)], most)]

    def join(self, parts: Iterable[Tensor]) -> Tensor:
        """Put what became of the chunks, (blocks, longest, ...) each, back: (batch, length, ...), 0 at padding.

        Where no gradient is wanted, a part is put back as soon as it comes, so that few are held at a time.
        """
        if torch.is_grad_enabled():
            together = torch.cat([chunk.real(part) for chunk, part in zip(self.chunks, parts, strict=True)])
            places = torch.cat([chunk.places for chunk in self.chunks])
            return self._documents(self._empty(together).index_copy(0, places, together))
        joined: Tensor | None = None
        for chunk, part in zip(self.chunks, parts, strict=True):
            joined = self.put(chunk, part, joined)
        assert joined is not None, "there is always a chunk"
        return joined

    def put(self, chunk: Chunk, part: Tensor, joined: Tensor | None) -> Tensor:
        """Put what became of a chunk back into `joined` (batch, length, ...), or into zeros where there is none yet."""
        rows = chunk.real(part)
        if joined is None:
            joined = self._documents(self._empty(rows))
        joined.flatten(0, 1)[chunk.places] = rows
        return joined

    def _empty(self, like: Tensor) -> Tensor:
        return like.new_zeros(self.shape.numel(), *like.shape[1:])

    def _documents(self, rows: Tensor) -> Tensor:
        return rows.view(*self.shape, *rows.shape[1:])


def _fill(blocks: Sequence[Block], most: int) -> Iterator[Sequence[Block]]:
    """Cut blocks, the longest first, into chunks; full ones travel with full ones only, for they need no mask."""
    chunk: list[Block] = []
    for block in blocks:
        if chunk and ((len(chunk) + 1) * chunk[0].size > most or block.size < chunk[0].size == blocks[0].size):
            yield chunk
            chunk = []
        chunk.append(block)
    yield chunk
