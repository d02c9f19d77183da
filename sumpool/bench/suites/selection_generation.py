"""Whole generations with every selection, in turns: layer by layer and token by token.

So a slow minute slows all of them; only the sentences are encoded in one piece. Every token is forced, drawn for each
hypothesis on its own from a vocabulary whose vectors lie around one centre. Hypotheses continue others of their
document at every step, as in a search.
"""

from collections.abc import Mapping
from functools import partial
from typing import final

import torch
from torch import Tensor, nn

from sumpool.bench.config import SelectionBenchConfig
from sumpool.bench.measures.timing import Steps, clock
from sumpool.bench.results.table import Row
from sumpool.bench.systems.workload import Conditions
from sumpool.core.cross_attention._base import CrossAttentionConfig
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.decoder import Decoder, DecoderLayer
from sumpool.core.model.kv_cache import CompactingCache
from sumpool.core.tokens import Tokens
from sumpool.special_tokens import PAD, PARAGRAPH

_VOCABULARY = 512
"""Tokens; their number changes no time, since there is no output head."""


def measure_generations(
    systems: Mapping[str, CrossAttentionConfig],
    memory: Tokens,
    settings: SelectionBenchConfig,
    conditions: Conditions,
    progress: Steps,
) -> list[Row]:
    """Generate `settings.generate` tokens for the same documents with every system."""
    decodings: dict[str, _Decoding] = {}
    for name, config in systems.items():
        progress.check()
        decodings[name] = _Decoding(_decoder(config, settings, conditions), memory, settings.beams, conditions.device)
    for layer in range(settings.layers):
        for decoding in decodings.values():
            progress.check()
            decoding.precompute(layer)
    generator = torch.Generator().manual_seed(conditions.seed)
    rows = settings.batch * settings.beams
    first = torch.arange(settings.batch).repeat_interleave(settings.beams) * settings.beams
    for _ in range(settings.generate):
        progress()
        tokens = torch.randint(PARAGRAPH + 1, _VOCABULARY, (settings.batch, settings.beams), generator=generator)
        origins = (first + torch.randint(settings.beams, (rows,), generator=generator)).to(conditions.device)
        for decoding in decodings.values():
            decoding.step(tokens.to(conditions.device), origins)
    length = memory.states.size(1)
    return [Row({"length": length, "selection": name, **decoding.seconds()}) for name, decoding in decodings.items()]


def _decoder(config: CrossAttentionConfig, settings: SelectionBenchConfig, conditions: Conditions) -> Decoder:
    """Build a decoder with random weights; what all cross-attentions have in common costs the same in each."""
    torch.manual_seed(conditions.seed)
    embedding = nn.Embedding(_VOCABULARY, settings.dim, padding_idx=PAD)
    with torch.no_grad():
        centre = torch.randn(settings.dim)
        noise = settings.state_noise * torch.randn_like(embedding.weight)
        embedding.weight.copy_((centre + noise) * settings.dim**-0.5)
    model = ModelConfig.model_validate(
        {
            **settings.model_dump(include={"dim", "heads", "feed_forward"}),
            "target_length": settings.generate,
            "encoder": [{"attention": {"kind": "vanilla"}}],
            "decoder": {"layers": settings.layers, "cross_attention": config.model_dump()},
        }
    )
    return Decoder(model, embedding).to(conditions.device).eval()


@final
class _Decoding:
    """One decoder at work, and its seconds."""

    def __init__(self, decoder: Decoder, memory: Tokens, beams: int, device: torch.device) -> None:
        self.decoder, self.memory, self.device = decoder, memory, device
        self.shared: dict[str, Tensor] = {}
        self.cross_caches: list[dict[str, Tensor]] = []
        self.self_cache = CompactingCache.empty(len(memory.mask), beams, device)
        self.sentence_encoding = clock(lambda: self.shared.update(decoder.memory_encoder(memory)), device)
        self.projection = 0.0
        self.steps: list[float] = []

    def precompute(self, number: int) -> None:
        """Project the documents in one layer."""
        layer = self.decoder.layers[number]
        assert isinstance(layer, DecoderLayer)
        project = partial(layer.cross_attention.precompute, self.memory, self.shared)
        self.projection += clock(lambda: self.cross_caches.append(project()), self.device)

    def step(self, tokens: Tensor, origins: Tensor) -> None:
        """Append tokens (batch, beams), each to row origins[i] of (batch * beams,)."""

        def append() -> None:
            _, self.self_cache = self.decoder.step(tokens, self.self_cache.reorder(origins), self.cross_caches)

        self.steps.append(clock(append, self.device))

    def seconds(self) -> dict[str, object]:
        """Seconds of the sentences, of keys and values, of all steps, of everything, and of each step."""
        parts = {
            "sentence_encoding": self.sentence_encoding,
            "projection": self.projection,
            "decoding": sum(self.steps),
        }
        return {**parts, "total": sum(parts.values()), "step_seconds": tuple(self.steps)}
