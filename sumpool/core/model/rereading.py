"""The vectors of documents too long to hold them: worked out anew for each thing that is asked of them.

A pooling that goes by scores asks twice: for the scores, and, once these have told who goes into what with which
weight, for the weighted sums. A chunk's vectors add to both and are gone. Time is that of reading twice; memory is that
of some chunks, of a few numbers for each token, and of what is left.
"""

from collections.abc import Callable, Iterator
from typing import final

import torch
from torch import Tensor

from sumpool.core.model.blocks import Blocks
from sumpool.core.nn.mixture import Mixture
from sumpool.core.nn.vectors import Vectors
from sumpool.core.tokens import Tokens


@final
class Reread(Vectors):
    """Vectors that are read again, chunk by chunk, whenever somebody asks; without gradients."""

    def __init__(
        self, tokens: Tokens, blocks: Blocks, read: Callable[[Tokens], Tokens], see: Callable[[Tensor], Tensor]
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            tokens: The documents.
            blocks: Their blocks.
            read: Makes the vectors of some blocks.
            see: What is wanted of each vector beside the pooling, (..., dim) -> (..., features).
        """
        self._seen: Tensor | None = None
        self._tokens = tokens
        self._blocks = blocks
        self._read = read
        self._see = see

    def score(self, scorer: Callable[[Tokens], Tensor]) -> Tensor:
        """Score the vectors of one chunk after another."""
        return self._blocks.join(scorer(self._read(chunk.take(self._tokens))) for chunk in self._blocks.chunks)

    def mix(self, mixture: Mixture) -> Tensor:
        """Add the vectors of one chunk after another to the sums that they go into."""
        shape, length = mixture.mask.shape, self._tokens.mask.size(1)
        used = mixture.weights != 0  # (batch, keep, members)
        begins = length * torch.arange(len(used), device=used.device)  # of the documents, when laid end to end
        place = (mixture.members + begins[:, None, None])[used]
        number = place.new_zeros(len(used) * length)
        number[place] = used.flatten(0, 1).nonzero()[:, 0]
        weight = mixture.weights.new_zeros(len(number))
        weight[place] = mixture.weights[used]
        sums: list[Tensor] = []

        def parts() -> Iterator[Tensor]:
            for chunk in self._blocks.chunks:
                states = self._read(chunk.take(self._tokens)).states
                rows, places = chunk.real(states), chunk.places
                if not sums:
                    sums.append(rows.new_zeros(shape.numel(), rows.size(1)))
                sums[0].index_add_(0, number[places], rows * weight[places, None].to(rows.dtype))
                yield self._see(states)

        self._seen = self._blocks.join(parts())
        return sums[0].view(*shape, -1)

    def seen(self) -> Tensor:
        """Give what `see` made of the vectors on their way into the mixture, (batch, length, features)."""
        assert self._seen is not None, "vectors are seen while they are mixed"
        return self._seen
