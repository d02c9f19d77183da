"""The encoder: attention layer by layer, with poolings between them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor, nn

from sumpool.core.model.blocks import Blocks
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.embed import Embed
from sumpool.core.model.rereading import Reread
from sumpool.core.model.runs import EncoderLayer, Run, find_runs
from sumpool.core.nn.masking import hide
from sumpool.core.nn.mixture import Mixture, Mixtures
from sumpool.core.pooling._base import Pooled, Pooler
from sumpool.core.tokens import Received, Tokens

See = Callable[[Tensor], Tensor]
"""What somebody wants of every vector, each by itself: (..., dim) -> (..., features)."""


@dataclass(frozen=True)
class Room:
    """How much memory vectors may take.

    Attributes:
        at_once: Bytes of those that run through the layers together.
        held: Bytes of one document's; of a longer one they are worked out twice instead of held, where that can be.
    """

    at_once: int
    held: int


CPU = Room(at_once=6 * 2**20, held=2**29)
"""2,048 vectors of dim 768 at once: linear maps run fastest at 512 to 2,048 rows, and what one leaves is still in the
cache when the next one reads it. Held: 174,762 of dim 768."""
GPU = Room(at_once=2**28, held=2**33)
"""87,381 vectors of dim 768 at once fill any device. Held: 2,796,202 of dim 768, on a device of tens of gigabytes."""


@dataclass(frozen=True)
class Encoded:
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


@final
class Encoder(nn.Module):
    """Reads whole documents."""

    word_starts: Tensor

    def __init__(self, config: ModelConfig, embedding: nn.Embedding, word_starts: Tensor) -> None:
        super().__init__()
        self.embed = Embed(embedding, config, config.positions, config.source_length)
        self.restore = config.restore
        layers = [EncoderLayer(layer, config) for layer in config.encoder]
        self.layers = nn.ModuleList(layers)
        self.poolers = nn.ModuleDict(
            {str(number): layer.pool.build(embedding) for number, layer in enumerate(config.encoder) if layer.pool}
        )
        self.norm = nn.LayerNorm(config.dim) if config.norm == "pre" else nn.Identity()
        self.register_buffer("word_starts", word_starts, persistent=False)
        self.runs = find_runs(layers, [int(number) for number in self.poolers])

    def forward(
        self, ids: Tensor, mask: Tensor, sentences: Tensor, phrases: Tensor | None = None, see: See = everything
    ) -> Encoded:
        """Encode.

        Args:
            ids: (batch, length).
            mask: (batch, length), True at real tokens.
            sentences: (batch, length), sentence number of each token.
            phrases: (batch, length), numbers of the phrases of a teacher of boundaries.
            see: What is wanted of the vectors before the first pooling.
        """
        words = self.word_starts[ids].cumsum(1)
        nothing = self.embed.embedding.weight.new_empty(*ids.shape, 0)  # the first layers make the vectors
        tokens = Tokens.from_source(nothing, mask, sentences, words, ids, phrases)
        source: Tokens | None = None
        before: list[Tokens] = []
        mixtures: list[Callable[[], Mixture]] = []
        for run in self.runs:
            reread = self._reread(tokens, run, see)
            if reread:
                source, pooled = reread
            else:
                tokens = self._read(tokens, run)
                pooler = self._pooler(run)
                if pooler is None:
                    continue
                source = source or _seen(tokens, see)
                before += [tokens] if self.restore else []
                pooled = pooler(replace(tokens, losses={}, figures={}))
            tokens, mixtures = _join(tokens, pooled, run), [*mixtures, pooled.mixture]
        source = source or _seen(tokens, see)
        if before:
            tokens, mixtures = _restore(tokens, before, mixtures), []
        return Encoded(tokens.with_states(self.norm(tokens.states)), source, mixtures)

    def _read(self, tokens: Tokens, run: Run) -> Tokens:
        """Run documents through some layers, taken apart into blocks where these do not see further."""
        if run.block is None:
            return self._pass(replace(tokens, full=bool(tokens.mask.all())), run)
        blocks = self._cut(tokens, run.block)
        received: list[Received] = []

        def parts() -> Iterator[Tensor]:
            for chunk in blocks.chunks:
                found = self._pass(chunk.take(tokens), run)
                assert found.received is not None
                received.append(found.received)
                yield found.states

        states = blocks.join(parts())
        return replace(tokens, states=states, received=lambda itself: blocks.join(give(itself) for give in received))

    def _reread(self, tokens: Tokens, run: Run, see: See) -> tuple[Tokens, Pooled] | None:
        """Read and pool documents too long to hold their vectors; None where there are none, or it takes all of them.

        Returns:
            What is wanted of the vectors before the pooling, and what is left by it.
        """
        pooler, vector = self._pooler(run), self.embed.embedding.weight[0]
        held = tokens.mask.size(1) * vector.numel() * vector.element_size() <= self._room.held
        if held or not pooler or not run.block or run.layers.start or self.restore or torch.is_grad_enabled():
            return None
        vectors = Reread(tokens, self._cut(tokens, run.block), lambda chunk: self._pass(chunk, run), see)
        pooled = pooler.pool(tokens, vectors)
        return (tokens.with_states(vectors.seen()), pooled) if pooled else None

    def _pass(self, tokens: Tokens, run: Run) -> Tokens:
        """Run documents, or blocks as if they were documents, through some layers; the first begin with ids."""
        if run.layers.start == 0:
            tokens = tokens.with_states(self.embed(tokens.ids, tokens.mask, tokens.positions))
        for number in run.layers:
            tokens = self.layers[number](tokens)
        return tokens

    def _cut(self, tokens: Tokens, block: int) -> Blocks:
        vector = self.embed.embedding.weight[0]
        return Blocks(tokens.mask, block, self._room.at_once // (vector.numel() * vector.element_size()))

    @property
    def _room(self) -> Room:
        return GPU if self.embed.embedding.weight.is_cuda else CPU

    def _pooler(self, run: Run) -> Pooler | None:
        """Find what pools after some layers."""
        number = str(run.layers[-1])
        if number not in self.poolers:
            return None
        pooler = self.poolers[number]
        assert isinstance(pooler, Pooler)
        return pooler


def _seen(tokens: Tokens, see: See) -> Tokens:
    """Keep what is wanted of the vectors."""
    return replace(tokens, states=see(hide(tokens.states, tokens.mask)), received=None)


def _join(tokens: Tokens, pooled: Pooled, run: Run) -> Tokens:
    """Let the losses of a pooling join those before it; its figures are named after the layer."""
    losses = dict(tokens.losses)
    for name, loss in pooled.tokens.losses.items():
        losses[name] = losses[name] + loss if name in losses else loss
    figures = {f"layer_{run.layers.stop}.{name}": figure for name, figure in pooled.tokens.figures.items()}
    return replace(pooled.tokens, losses=losses, figures=tokens.figures | figures)


def _restore(tokens: Tokens, before: Sequence[Tokens], mixtures: Mixtures) -> Tokens:
    """Undo the poolings, last to first, and add what the first of them was given."""
    states = tokens.states
    for earlier, mixture in zip(reversed(before), reversed(mixtures), strict=True):
        states = mixture().spread(states, earlier.mask.size(1))
    source = before[0]
    return replace(source, states=source.states + states, losses=tokens.losses, figures=tokens.figures)
