"""Encoder states before a pooling, computed chunk by chunk on demand.

A pooler with a scorer requests first the scores and then, once these determine which states are combined with
which weight, for the weighted sums. States that exceed the memory budget are recomputed for the sums, to which each
chunk adds before it is freed. Time is that of two encoder passes; memory is that of a few chunks, of some numbers per
token, and of the pooled states.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import final

import torch
from torch import Tensor

from sumpool.core.model.blocks import Blocks, Chunk
from sumpool.core.nn.states import Mixture, States
from sumpool.core.tokens import AttentionReceived, Tokens


@final
class StreamedStates(States):
    """States that layers compute from blocks; scores and weighted sums carry no gradient."""

    def __init__(
        self,
        tokens: Tokens,
        blocks: Blocks,
        run_layers: Callable[[Tokens], Tokens],
        projection: Callable[[Tensor], Tensor],
        store: bool,
    ) -> None:
        """Prepare; nothing is computed yet.

        Args:
            tokens: The documents, input of the layers.
            blocks: Blocks of the documents.
            run_layers: Computes the states of a chunk.
            projection: Projection of each state that `projected` returns, (..., dim) -> (..., features).
            store: Whether scored states are stored for the weighted sums, or only their projection.
        """
        self._tokens = tokens
        self._blocks = blocks
        self._run_layers = run_layers
        self._projection = projection
        self._store = store
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
