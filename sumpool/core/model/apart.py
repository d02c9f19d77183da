"""What summaries have written that are drawn: none ever goes on from another one, so that each has slots of its own.

Sixteen of a document that shared a room would read sixteen times as many slots, and each see one sixteenth of them.
"""

from dataclasses import dataclass, replace
from typing import Self, final

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.model.written import Written, rows_of, take_held

_STEPS = 32
"""Slots that are added where there are none left."""


@final
@dataclass(frozen=True)
class ApartWritten(Written):
    """What was written, in slots of each hypothesis.

    Attributes:
        documents: How many there are.
        beams: Hypotheses of each.
        device: Where they are.
        length: Tokens that every hypothesis has.
    """

    documents: int
    beams: int
    device: torch.device
    length: int = 0

    @property
    def place(self) -> Tensor:
        """See `Written.place`."""
        return torch.tensor(self.length - 1, device=self.device)

    def advance(self) -> Self:
        """See `Written.advance`."""
        return replace(self, length=self.length + 1)

    def mix(self, layer: int, newest: Tensor) -> Tensor:
        """See `Written.mix`."""
        own = newest.transpose(2, 3).flatten(1, 2)[..., None, :]  # (3, documents * beams, heads, 1, head_dim)
        if layer == len(self.rooms):
            self.rooms.append(own[1:].repeat(1, 1, 1, _STEPS, 1))
        if self.rooms[layer].size(3) < self.length:
            self.rooms[layer] = F.pad(self.rooms[layer], (0, 0, 0, _STEPS))
        self.rooms[layer][:, :, :, self.length - 1 : self.length] = own[1:]
        key, value = self.rooms[layer][:, :, :, : self.length].unbind()
        mixed: Tensor = F.scaled_dot_product_attention(own[0], key, value)
        return mixed.view(self.documents, self.beams, *mixed.shape[1::2]).transpose(1, 2)

    def take(self, rows: Tensor) -> Self:
        """See `Written.take`."""
        return replace(self._keep(rows), beams=len(rows) // self.documents)

    def select(self, documents: Tensor) -> Self:
        """See `Written.select`."""
        return replace(self._keep(rows_of(documents, self.beams)), documents=len(documents))

    def _keep(self, rows: Tensor) -> Self:
        rooms = [room.index_select(1, rows) for room in self.rooms]
        return replace(self, rooms=rooms, held=take_held(self.held, rows))
