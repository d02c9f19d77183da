"""Documents cut into chunks with overlapping windows: sliding-window attention in linear time."""

from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.numerics import round_up, to_device


@final
class Windows:
    """Chunks of queries, and for each the window of its visible keys: the chunk and its neighbours within reach.

    The axis `windows` runs over the chunks of all documents. Chunks of padding only are skipped, so that the cost
    follows the real tokens of a batch. In batches no longer than a chunk with its neighbours, a document is one window.
    """

    def __init__(
        self,
        mask: Tensor,
        reach: int,
        first: int = 0,
        lengths: Sequence[int] | None = None,
    ) -> None:
        """Cut documents into chunks.

        Args:
            mask: (batch, length), True at real tokens.
            reach: Tokens visible on either side of a token.
            first: Number of first tokens that are visible to all; they are prepended to each window, and masked at
                their positions.
            lengths: Length of each document, behind which all tokens are padding, on the host; None reads the mask, for
                which the host waits.
        """
        self.mask = mask
        self.reach = reach
        self.first = min(first, mask.size(1))
        length = mask.size(1)
        exporting = torch.compiler.is_exporting()  # a graph has one layout for all lengths, and keeps empty chunks
        self.chunk, self.margin = (reach, reach) if exporting or length > 3 * reach else (length, 0)
        self.rest = round_up(length, self.chunk) - length
        self.non_empty = None if exporting else self._find_non_empty(lengths)

    @property
    def query_slice(self) -> slice:
        """Range of the chunk's tokens in their window."""
        start = self.margin + self.first
        return slice(start, start + self.chunk)

    @property
    def visible(self) -> Tensor:
        """(windows, chunk, keys), True at visible keys; every token sees itself, so that no row is empty."""
        keys = torch.arange(-self.first, 2 * self.margin + self.chunk, device=self.mask.device)  # first tokens: below 0
        distance = keys[self.query_slice, None] - keys
        near = (distance.abs() <= self.reach) | (keys < 0)
        real = self.windows(self.mask)
        if self.first:
            is_first = torch.arange(self.mask.size(1), device=self.mask.device) < self.first
            others = self.windows(self.mask & ~is_first)
            real = torch.cat([real[:, : self.first], others[:, self.first :]], dim=1)
        return near & real[:, None] | (distance == 0)

    def chunks(self, values: Tensor) -> Tensor:
        """Cut (batch, length, ...): (windows, chunk, ...)."""
        return self._drop_empty(self._chunks(values))

    def windows(self, values: Tensor) -> Tensor:
        """Gather the window of each chunk from (batch, length, ...): (windows, keys, ...)."""
        padded = _pad(values, self.margin, self.margin + self.rest)
        gathered = padded.unfold(1, self.chunk + 2 * self.margin, self.chunk)
        gathered = gathered.movedim(-1, 2)  # (batch, chunks, keys, ...)
        if self.first:
            first = values[:, None, : self.first].expand(-1, gathered.size(1), *values[:, : self.first].shape[1:])
            gathered = torch.cat([first, gathered], dim=2)
        return self._drop_empty(gathered.flatten(0, 1))

    def join(self, values: Tensor) -> Tensor:
        """Join chunks (windows, chunk, ...) to documents (batch, length, ...), 0 in skipped chunks."""
        return self._restore_empty(values).flatten(1, 2)[:, : self.mask.size(1)].contiguous()

    def _find_non_empty(self, lengths: Sequence[int] | None) -> Tensor | None:
        """Indices of the chunks with a real token; None where all chunks have one."""
        if lengths is None:
            is_filled = self._chunks(self.mask).any(1)
            return None if is_filled.all() else is_filled.nonzero().squeeze(1)
        chunks = (self.mask.size(1) + self.rest) // self.chunk
        counts = [-(-length // self.chunk) for length in lengths]
        filled = [document * chunks + chunk for document, count in enumerate(counts) for chunk in range(count)]
        return None if len(filled) == chunks * len(lengths) else to_device(filled, self.mask, torch.long)

    def _chunks(self, values: Tensor) -> Tensor:
        chunks: Tensor = _pad(values, 0, self.rest).unflatten(1, (-1, self.chunk))  # (batch, chunks, chunk, ...)
        return chunks.flatten(0, 1)

    def _drop_empty(self, values: Tensor) -> Tensor:
        """Drop chunks of padding."""
        return values if self.non_empty is None else values.index_select(0, self.non_empty)

    def _restore_empty(self, values: Tensor) -> Tensor:
        """Insert zeros for dropped chunks: (batch, chunks, ...)."""
        if self.non_empty is not None:
            chunks = self.mask.size(0) * (self.mask.size(1) + self.rest) // self.chunk
            values = values.new_zeros(chunks, *values.shape[1:]).index_copy(0, self.non_empty, values)
        by_document: Tensor = values.unflatten(0, (self.mask.size(0), -1))
        return by_document


def _pad(values: Tensor, left: int, right: int) -> Tensor:
    """Pad the length of (batch, length, ...) with zeros."""
    return F.pad(values, (0, 0) * (values.dim() - 2) + (left, right))
