"""Documents whose vectors are worked out chunk by chunk, when somebody asks for them.

A pooling that goes by scores asks for the scores, and, once these have told who goes into what with which weight, for
the weighted sums. The vectors of documents too long to hold them are worked out anew for these: a chunk's add to the
sums and are gone. Time is that of reading twice; memory is that of some chunks, of a few numbers for each token, and of
what is left.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import final

import torch
from torch import Tensor

from sumpool.core.model.blocks import Blocks, Chunk
from sumpool.core.nn.mixture import Mixture
from sumpool.core.nn.states import States
from sumpool.core.tokens import AttentionReceived, Tokens


@final
class StreamedStates(States):
    """Vectors that some layers make of blocks; scores and sums of them, in one piece or not, carry no gradient."""

    def __init__(
        self,
        tokens: Tokens,
        blocks: Blocks,
        read: Callable[[Tokens], Tokens],
        see: Callable[[Tensor], Tensor],
        hold: bool,
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            tokens: The documents.
            blocks: Their blocks.
            read: Makes the vectors of some blocks.
            see: What is wanted of each vector beside the pooling, (..., dim) -> (..., features).
            hold: Whether vectors that have been scored are held until they are mixed, or only what is wanted of them.
        """
        self._tokens = tokens
        self._blocks = blocks
        self._read = read
        self._see = see
        self._hold = hold
        self._held: Tensor | None = None
        self._seen: Tensor | None = None

    def score(self, scorer: Callable[[Tokens], Tensor]) -> Tensor:
        """Score one chunk after another."""
        scores: Tensor | None = None
        kept: Tensor | None = None
        for chunk, found in self._chunks():
            # At once into one tensor each: small ones between large ones would keep memory from being used again.
            scores = self._blocks.put(chunk, scorer(found), scores)
            kept = self._blocks.put(chunk, found.states if self._hold else self._see(found.states), kept)
        if self._hold:
            self._held = kept
        else:
            self._seen = kept
        assert scores is not None, "there is always a chunk"
        return scores

    def mix(self, mixture: Mixture) -> Tensor:
        """Mix those that are held, or add one chunk after another to the sums that its vectors go into."""
        if self._held is not None:
            return mixture.combine(self._held)
        shape, length = mixture.mask.shape, self._tokens.mask.size(1)
        used = mixture.weights != 0  # (batch, keep, members)
        begins = length * torch.arange(len(used), device=used.device)  # of the documents, when laid end to end
        place = (mixture.members + begins[:, None, None])[used]
        number = place.new_zeros(len(used) * length)
        number[place] = used.flatten(0, 1).nonzero()[:, 0]
        weight = mixture.weights.new_zeros(len(number))
        weight[place] = mixture.weights[used]
        sums: Tensor | None = None
        for chunk, found in self._chunks():
            rows, places = chunk.real(found.states), chunk.places
            sums = rows.new_zeros(shape.numel(), rows.size(1)) if sums is None else sums
            sums.index_add_(0, number[places], rows * weight[places, None].to(rows.dtype))
        assert sums is not None, "there is always a chunk"
        return sums.view(*shape, -1)

    def all(self) -> Tokens:
        """Put the vectors of all chunks back into their documents; with a gradient, if one is wanted."""
        attention_received: list[AttentionReceived] = []

        def parts() -> Iterator[Tensor]:
            for _, found in self._chunks():
                assert found.attention_received is not None
                attention_received.append(found.attention_received)
                yield found.states

        self._held = self._blocks.join(parts())
        return replace(
            self._tokens,
            states=self._held,
            attention_received=lambda itself: self._blocks.join(give(itself) for give in attention_received),
        )

    def seen(self) -> Tensor:
        """Give what `see` makes of each vector, (batch, length, features), once they have been scored or held."""
        if self._held is not None:
            return self._see(self._held)
        assert self._seen is not None, "vectors must be scored or held before it is known what is seen of them"
        return self._seen

    def _chunks(self) -> Iterator[tuple[Chunk, Tokens]]:
        """Run the chunks through the layers, one when it is asked for."""
        return ((chunk, self._read(chunk.take(self._tokens))) for chunk in self._blocks.chunks)
