"""The encoder: attention layer by layer, with poolings between them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor, nn

from sumpool.core.model.blocks import Blocks
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.embed import Embed
from sumpool.core.model.layer_groups import EncoderLayer, LayerGroup, group_layers
from sumpool.core.model.streaming import StreamedStates
from sumpool.core.nn.execution import run_layer
from sumpool.core.nn.mixture import Mixture, Mixtures
from sumpool.core.nn.states import EagerStates, States
from sumpool.core.pooling._base import Pooler
from sumpool.core.tokens import Tokens

See = Callable[[Tensor], Tensor]
"""What somebody wants of every vector, each by itself: (..., dim) -> (..., features)."""


@dataclass(frozen=True)
class MemoryBudget:
    """How much memory vectors may take.

    Attributes:
        at_once: Bytes of those that run through the layers together.
        held: Bytes of one document's; of a longer one they are worked out twice instead of held, where that can be.
    """

    at_once: int
    held: int


CPU = MemoryBudget(at_once=6 * 2**20, held=2**29)
"""2,048 vectors of dim 768 at once: linear maps run fastest at 512 to 2,048 rows, and what one leaves is still in the
cache when the next one reads it. Held: 174,762 of dim 768."""
GPU = MemoryBudget(at_once=2**28, held=2**33)
"""87,381 vectors of dim 768 at once fill any device. Held: 2,796,202 of dim 768, on a device of tens of gigabytes."""


@dataclass(frozen=True)
class EncoderOutput:
    """What the encoder leaves of the documents.

    Attributes:
        memory: The vectors that cross-attention sees, after every layer and every pooling.
        source: What was wanted of the vectors before the first pooling, one for each source token.
        mixtures: What each pooling, first to last, made of the vectors before it; none where `restore` has undone them.
    """

    memory: Tokens
    source: Tokens
    mixtures: Mixtures


def everything(states: Tensor) -> Tensor:
    """Want the vectors as they are."""
    return states


def nothing(states: Tensor) -> Tensor:
    """Want nothing of the vectors."""
    return states[..., :0]


@final
class Encoder(nn.Module):
    """Reads whole documents."""

    word_starts: Tensor

    def __init__(self, config: ModelConfig, embedding: nn.Embedding, word_starts: Tensor) -> None:
        super().__init__()
        self.embed = Embed(embedding, config, config.positions, config.source_length)
        self.restore = config.restore
        self.checkpoint_activations = False
        layers = [EncoderLayer(layer, config) for layer in config.encoder]
        self.layers = nn.ModuleList(layers)
        self.poolers = nn.ModuleDict(
            {str(number): layer.pool.build(embedding) for number, layer in enumerate(config.encoder) if layer.pool}
        )
        self.norm = nn.LayerNorm(config.dim) if config.norm == "pre" else nn.Identity()
        self.register_buffer("word_starts", word_starts, persistent=False)
        self.runs = group_layers(layers, [int(number) for number in self.poolers])

    def forward(
        self, ids: Tensor, mask: Tensor, sentences: Tensor, phrases: Tensor | None = None, see: See = everything
    ) -> EncoderOutput:
        """Encode.

        Args:
            ids: (batch, length).
            mask: (batch, length), True at real tokens.
            sentences: (batch, length), sentence number of each token.
            phrases: (batch, length), numbers of the phrases of a teacher of boundaries.
            see: What is wanted of the vectors before the first pooling.
        """
        words = self.word_starts[ids].cumsum(1)
        empty = self.embed.embedding.weight.new_empty(*ids.shape, 0)  # the first layers make the vectors
        tokens = Tokens.from_source(empty, mask, sentences, words, ids, phrases)
        source: Tokens | None = None
        before: list[Tokens] = []
        mixtures: list[Callable[[], Mixture]] = []
        losses: dict[str, Tensor] = {}
        metrics: dict[str, Tensor] = {}
        for run in self.runs:
            vectors = self._read(tokens, run, see if source is None else nothing)
            pooler = self._pooler(run)
            if pooler is None:
                tokens = vectors.all()
                continue
            if self.restore or torch.is_grad_enabled():  # which need the vectors again
                vectors = EagerStates(vectors.all())
            before += [vectors.all()] if self.restore else []
            pooled = pooler(tokens, vectors)
            source = source or tokens.with_states(_seen(vectors, see))
            tokens, mixtures = replace(pooled.tokens, losses={}, metrics={}), [*mixtures, pooled.mixture]
            for name, loss in pooled.tokens.losses.items():
                losses[name] = losses[name] + loss if name in losses else loss
            metrics |= {f"layer_{run.layers.stop}.{name}": value for name, value in pooled.tokens.metrics.items()}
        source = source or tokens.with_states(_seen(EagerStates(tokens), see))
        if before:
            tokens, mixtures = _restore(tokens, before, mixtures), []
        memory = replace(tokens, states=self.norm(tokens.states), losses=losses, metrics=metrics)
        return EncoderOutput(memory, source, mixtures)

    def _read(self, tokens: Tokens, run: LayerGroup, see: See) -> States:
        """Run documents through some layers, taken apart into blocks where these do not see further."""
        if run.block is None:
            return EagerStates(self._pass(replace(tokens, full=bool(tokens.mask.all())), run))
        weight = self.embed.embedding.weight
        size, room = weight.size(1) * weight.element_size(), GPU if weight.is_cuda else CPU
        return StreamedStates(
            tokens,
            Blocks(tokens.mask, run.block, room.at_once // size),
            read=lambda chunk: self._pass(chunk, run),
            see=see,
            hold=tokens.mask.size(1) * size <= room.held,
        )

    def _pass(self, tokens: Tokens, run: LayerGroup) -> Tokens:
        """Run documents, or blocks as if they were documents, through some layers; the first begin with ids."""
        if run.layers.start == 0:
            tokens = tokens.with_states(self.embed(tokens.ids, tokens.mask, tokens.positions))
        for number in run.layers:
            tokens = run_layer(self.layers[number], tokens, checkpointed=self.checkpoint_activations)
        return tokens

    def _pooler(self, run: LayerGroup) -> Pooler | None:
        """Find what pools after some layers."""
        number = str(run.layers[-1])
        if number not in self.poolers:
            return None
        pooler = self.poolers[number]
        assert isinstance(pooler, Pooler)
        return pooler


def _seen(vectors: States, see: See) -> Tensor:
    """Give what is wanted of vectors that have been pooled or held."""
    return vectors.seen() if isinstance(vectors, StreamedStates) else see(vectors.all().states)


def _restore(tokens: Tokens, before: Sequence[Tokens], mixtures: Mixtures) -> Tokens:
    """Undo the poolings, last to first, and add what the first of them was given."""
    states = tokens.states
    for earlier, mixture in zip(reversed(before), reversed(mixtures), strict=True):
        states = mixture().spread(states, earlier.mask.size(1))
    source = before[0]
    return source.with_states(source.states + states)
