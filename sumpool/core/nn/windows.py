"""Documents in chunks, each with those around it: how attention within reach stays linear in the length."""

from functools import cached_property
from typing import final

import torch
from torch import Tensor
from torch.nn import functional as F


@final
class Windows:
    """Chunks that ask, and for each the window of what it may see: itself and its neighbours, as far as they reach.

    The axis `windows` runs over the chunks of all documents. Chunks of padding only are left out, so that the cost
    follows the real tokens of a batch. A batch no longer than a chunk with its neighbours is one window a document.
    """

    def __init__(self, mask: Tensor, reach: int, first: bool = False) -> None:
        """Cut.

        Args:
            mask: (batch, length), True at real tokens.
            reach: Places that a token sees on either side.
            first: Whether all see the first token; it then stands before each window, and hidden where it was.
        """
        self.mask = mask
        self.reach = reach
        self.first = first
        length = mask.size(1)
        self.chunk, self.margin = (reach, reach) if length > 3 * reach else (length, 0)
        self.rest = -length % self.chunk
        busy = self._chunks(mask).any(1)
        self.busy = None if busy.all() else busy.nonzero().squeeze(1)

    @property
    def asking(self) -> slice:
        """Where the tokens of a chunk stand in their window."""
        start = self.margin + self.first
        return slice(start, start + self.chunk)

    @cached_property
    def itself(self) -> Tensor:
        """(chunk, keys), True where a token of the chunk meets itself."""
        places = torch.arange(self.margin * 2 + self.chunk + self.first, device=self.mask.device)
        return places[self.asking, None] == places

    @cached_property
    def seen(self) -> Tensor:
        """(windows, chunk, keys), True at what may be seen; all see themselves, so that padding sees something."""
        places = torch.arange(self.margin * 2 + self.chunk, device=self.mask.device)
        near = (places[self.margin : self.margin + self.chunk, None] - places).abs() <= self.reach
        real = self.windows(self.mask)
        if self.first:
            near = F.pad(near, (1, 0), value=True)
            real = torch.cat([real[:, :1], self.windows(without_first(self.mask))[:, 1:]], dim=1)
        return near & real[:, None] | self.itself

    def chunks(self, values: Tensor) -> Tensor:
        """Cut (batch, length, ...): (windows, chunk, ...)."""
        return self._busy(self._chunks(values))

    def windows(self, values: Tensor) -> Tensor:
        """Lay out what each chunk may see of (batch, length, ...): (windows, keys, ...)."""
        filled = _pad(values, self.margin, self.margin + self.rest)
        laid_out = filled.unfold(1, self.chunk + 2 * self.margin, self.chunk)
        laid_out = laid_out.movedim(-1, 2)  # (batch, chunks, keys, ...)
        if self.first:
            first = values[:, None, :1].expand(-1, laid_out.size(1), *values[:, :1].shape[1:])
            laid_out = torch.cat([first, laid_out], dim=2)
        return self._busy(laid_out.flatten(0, 1))

    def join(self, found: Tensor) -> Tensor:
        """Put chunks (windows, chunk, ...) together again: (batch, length, ...), 0 where they were left out."""
        return self._all(found).flatten(1, 2)[:, : self.mask.size(1)]

    def gather(self, given: Tensor) -> Tensor:
        """Sum what each token is given in all windows that it stands in, (windows, keys): (batch, length)."""
        given = self._all(given)  # (batch, chunks, keys)
        parts: Tensor = given[..., int(self.first) :].unflatten(
            2, (-1, self.chunk)
        )  # (batch, chunks, neighbours, chunk)
        around = parts.size(2) // 2
        total = parts.new_zeros(parts.size(0), parts.size(1) + 2 * around, self.chunk)
        for number, part in enumerate(parts.unbind(2)):
            total = total + F.pad(part, (0, 0, number, 2 * around - number))
        summed = total[:, around : around + parts.size(1)].flatten(1)[:, : self.mask.size(1)]
        if self.first:
            summed = torch.cat([given[..., :1].sum(1), summed[:, 1:]], dim=1)  # where it stood, it was hidden
        return summed

    def _chunks(self, values: Tensor) -> Tensor:
        chunks: Tensor = _pad(values, 0, self.rest).unflatten(1, (-1, self.chunk))  # (batch, chunks, chunk, ...)
        return chunks.flatten(0, 1)

    def _busy(self, values: Tensor) -> Tensor:
        """Leave out chunks of padding."""
        return values if self.busy is None else values.index_select(0, self.busy)

    def _all(self, values: Tensor) -> Tensor:
        """Put zeros in where chunks were left out: (batch, chunks, ...)."""
        if self.busy is not None:
            chunks = len(self.mask) * (self.mask.size(1) + self.rest) // self.chunk
            values = values.new_zeros(chunks, *values.shape[1:]).index_copy(0, self.busy, values)
        by_document: Tensor = values.unflatten(0, (len(self.mask), -1))
        return by_document


def without_first(mask: Tensor) -> Tensor:
    """Hide the first token of (batch, length)."""
    return F.pad(mask[:, 1:], (1, 0))


def _pad(values: Tensor, before: int, behind: int) -> Tensor:
    """Put zeros before and behind (batch, length, ...)."""
    return F.pad(values, (0, 0) * (values.dim() - 2) + (before, behind))
