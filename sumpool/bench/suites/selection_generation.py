"""Whole generations with every selection, in turns: layer by layer and token by token.

So a slow minute slows all of them; only the sentences are read in one piece. Every token is forced, drawn for each
hypothesis on its own from a vocabulary whose vectors stand around one centre. Hypotheses go on from others of their
document at every step, as in a search.
"""

from collections.abc import Mapping
from functools import partial
from typing import final

import torch
from torch import Tensor, nn

from sumpool.bench.config import SelectionConfig
from sumpool.bench.measures.timing import Steps, clock
from sumpool.bench.suites.selection_rows import GenerationRow
from sumpool.bench.systems.workload import Conditions
from sumpool.core.cross_attention._base import CrossAttentionConfig
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.decoder import Decoder, DecoderLayer
from sumpool.core.model.kv_cache import CompactingCache
from sumpool.core.tokens import Tokens
from sumpool.special_tokens import PAD, PARAGRAPH

_VOCABULARY = 512
"""Pieces; how many there are changes no time, since there is no output head."""


def measure_generations(
    systems: Mapping[str, CrossAttentionConfig],
    memory: Tokens,
    settings: SelectionConfig,
    conditions: Conditions,
    progress: Steps,
) -> list[GenerationRow]:
    """Let every system write `settings.generate` tokens about the same documents.

    Args:
        systems: Cross-attentions by name.
        memory: What the encoder left of the documents.
        settings: Sizes.
        conditions: Device and seed.
        progress: Called before every token.
    """
    writers: dict[str, _Writer] = {}
    for name, config in systems.items():
        progress.check()
        writers[name] = _Writer(_decoder(config, settings, conditions), memory, settings.beams, conditions.device)
    for layer in range(settings.layers):
        for writer in writers.values():
            progress.check()
            writer.precompute(layer)
    generator = torch.Generator().manual_seed(conditions.seed)
    rows = settings.batch * settings.beams
    first = torch.arange(settings.batch).repeat_interleave(settings.beams) * settings.beams
    for _ in range(settings.generate):
        progress()
        tokens = torch.randint(PARAGRAPH + 1, _VOCABULARY, (settings.batch, settings.beams), generator=generator)
        origins = (first + torch.randint(settings.beams, (rows,), generator=generator)).to(conditions.device)
        for writer in writers.values():
            writer.write(tokens.to(conditions.device), origins)
    length = memory.states.size(1)
    return [
        GenerationRow(length, name, writer.reading, writer.remembering, tuple(writer.steps))
        for name, writer in writers.items()
    ]


def _decoder(config: CrossAttentionConfig, settings: SelectionConfig, conditions: Conditions) -> Decoder:
    """Build a decoder with random weights; what all cross-attentions have in common costs the same in each."""
    torch.manual_seed(conditions.seed)
    embedding = nn.Embedding(_VOCABULARY, settings.dim, padding_idx=PAD)
    with torch.no_grad():
        centre = torch.randn(settings.dim)
        embedding.weight.copy_((centre + settings.apart * torch.randn_like(embedding.weight)) * settings.dim**-0.5)
    model = ModelConfig.model_validate(
        {
            "dim": settings.dim,
            "heads": settings.heads,
            "feed_forward": settings.feed_forward,
            "target_length": settings.generate,
            "encoder": [{"attention": {"kind": "vanilla"}}],
            "decoder": {"layers": settings.layers, "cross_attention": config.model_dump()},
        }
    )
    return Decoder(model, embedding).to(conditions.device).eval()


@final
class _Writer:
    """One system at work.

    Attributes:
        reading: Seconds in which what all layers share was read from the documents: the sentences.
        remembering: Seconds in which the layers projected the documents.
        steps: Seconds of each token.
    """

    def __init__(self, decoder: Decoder, memory: Tokens, beams: int, device: torch.device) -> None:
        self.decoder, self.memory, self.device = decoder, memory, device
        self.shared: dict[str, Tensor] = {}
        self.precomputed: list[dict[str, Tensor]] = []
        self.written = CompactingCache.empty(len(memory.mask), beams, device)
        self.reading = clock(self._read, device)
        self.remembering = 0.0
        self.steps: list[float] = []

    def precompute(self, layer: int) -> None:
        """Let one layer project the documents."""
        self.remembering += clock(partial(self._remember, layer), self.device)

    def write(self, tokens: Tensor, origins: Tensor) -> None:
        """Write tokens (batch, beams), each after row origins[i] of (batch * beams,)."""
        self.steps.append(clock(partial(self._step, tokens, origins), self.device))

    def _read(self) -> None:
        self.shared = self.decoder.memory_encoder(self.memory)

    def _remember(self, number: int) -> None:
        layer = self.decoder.layers[number]
        assert isinstance(layer, DecoderLayer)
        self.precomputed.append(layer.cross_attention.precompute(self.memory, self.shared))

    def _step(self, tokens: Tensor, origins: Tensor) -> None:
        written = self.written.reorder(origins)
        _, self.written = self.decoder.step(tokens, written, self.precomputed)
