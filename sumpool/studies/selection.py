"""Cross-attention to selected sentences against cross-attention to all words, in time (Manakul and Gales, 2021).

The paper counts operations, and says that its recurrent sentence encoder offsets what they save. Here one layer's
decoding step is timed, then whole generations of a decoder: sentences, keys and values once, then every step with its
causal attention and feed-forward layers, all but the output head. All systems have the same weights and take turns.

Weights and documents are random. What is not random is the similarity of the hypotheses of a document: their states lie
around one centre (see `SelectionConfig.state_noise`). Independent hypotheses, the worst case, are measured too.

Generations take turns layer by layer and token by token, so that a slow minute slows all of them; only the sentences
are encoded in one piece. Every token is forced, drawn for each hypothesis on its own from a vocabulary whose vectors
lie around one centre. Hypotheses continue others of their document at every step, as in a search.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, final

import torch
from torch import Tensor, nn

from sumpool.bench.measures import Steps, Work, clock, interleave
from sumpool.bench.results import Column, Result, Row, Table, quotient, unique, where
from sumpool.bench.workload import Conditions
from sumpool.core.cross_attention._base import CrossAttentionConfig
from sumpool.core.cross_attention.full import FullCrossAttentionConfig
from sumpool.core.cross_attention.sentence import SentenceCrossAttention, SentenceCrossAttentionConfig
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.decoder import Decoder, DecoderLayer
from sumpool.core.model.kv_cache import CompactingCache
from sumpool.core.nn.gathering import is_worth_copying, words_read
from sumpool.core.tokens import Tokens
from sumpool.progress import Check, Report, no_op
from sumpool.special_tokens import PAD, PARAGRAPH
from sumpool.studies.config import SelectionConfig
from sumpool.studies.study import make_table

FULL = "full"
APPROXIMATE, GRU = "approximate", "approximate, gru"
_VOCABULARY = 512
"""Tokens; their number changes no time, since there is no output head."""

SELECTIONS: Mapping[str, dict[str, Any]] = {
    APPROXIMATE: {"kind": "approximate", "encoder": {"kind": "attention"}},
    GRU: {"kind": "approximate", "encoder": {"kind": "gru"}},
    "model_free": {"kind": "model_free"},
    "random": {"kind": "random"},
}
"""Settings of the selections by name; the sentence encoder makes no difference to a step."""

Cache = dict[str, Tensor]
"""What a cross-attention precomputes of the documents."""


def measure_selection(
    settings: SelectionConfig, conditions: Conditions, report: Report = no_op, check: Check = no_op
) -> Result:
    """Measure steps and whole generations at every length."""
    lengths = sorted(set(settings.lengths))
    tasks = 2 * (1 + (len(SELECTIONS) - 1) * len(settings.sentences))
    progress = Steps(len(lengths) * (tasks * (settings.repeats + 1) + settings.generate), report, check)
    systems: dict[str, CrossAttentionConfig] = {FULL: FullCrossAttentionConfig()} | {
        name: _config(selection, settings.generate_sentences) for name, selection in SELECTIONS.items()
    }
    steps: list[Row] = []
    generations: list[Row] = []
    with torch.inference_mode(), conditions.autocast():
        for length in lengths:
            memory = _random_memory(length, settings, conditions)
            layer = _Layer(memory, settings, conditions)
            steps += [*layer.steps(progress), *layer.steps(progress, independent=True)]
            del layer
            generations += measure_generations(systems, memory, settings, conditions, progress)
    progress.finish()
    return selection_result(steps, generations, settings)


def _config(selection: dict[str, Any], sentences: int) -> SentenceCrossAttentionConfig:
    return SentenceCrossAttentionConfig.model_validate({"sentences": sentences, "selection": selection})


def _random_memory(length: int, settings: SelectionConfig, conditions: Conditions) -> Tokens:
    """Encoder output of a batch of random documents without padding."""
    generator = torch.Generator().manual_seed(conditions.seed)
    states = torch.randn(settings.batch, length, settings.dim, generator=generator).to(conditions.device)
    mask = torch.ones(states.shape[:2], dtype=torch.bool, device=conditions.device)
    positions = torch.arange(length, device=conditions.device).expand(mask.shape)
    return Tokens.from_source(states, mask, positions // settings.sentence, positions, positions)


@final
class _Layer:
    """The cross-attention of one layer in all its forms, with the documents that it sees."""

    def __init__(self, memory: Tokens, settings: SelectionConfig, conditions: Conditions) -> None:
        self.memory, self.settings, self.conditions = memory, settings, conditions
        self.length = memory.states.size(1)
        torch.manual_seed(conditions.seed)
        self.full = FullCrossAttentionConfig().build(settings.dim, settings.heads).to(conditions.device).eval()
        self.full_cache = self.full.precompute(memory, {})

    def steps(self, progress: Steps, independent: bool = False) -> list[Row]:
        """Measure a step of every selection with every number of sentences."""
        queries = self._queries(independent)
        tasks: dict[tuple[str, int], Work] = {(FULL, 0): partial(self.full.step, queries, self.full_cache)}
        counted = {(FULL, 0): (0.0, self.full_cache["key"].nbytes + self.full_cache["value"].nbytes)}
        for name, selection in SELECTIONS.items():
            if name == GRU:  # its steps are those of `APPROXIMATE`
                continue
            cache: Cache = {}
            for sentences in self.settings.sentences:
                layer, cache = self._build(_config(selection, sentences), cache)
                tasks[name, sentences] = partial(layer.step, queries, cache)
                counted[name, sentences] = _count(layer, queries, cache)
        timings = interleave(tasks, self.settings.repeats, self.conditions.device, progress)
        rows = []
        for (name, sentences), (selected, moved) in counted.items():
            labels = {"length": self.length, "selection": name, "sentences": sentences, "independent": independent}
            rows.append(Row({**labels, "selected": selected, "bytes": moved}, timings[name, sentences]))
        return rows

    def _build(self, config: SentenceCrossAttentionConfig, cache: Cache) -> tuple[SentenceCrossAttention, Cache]:
        """Build with the weights of the full layer; precompute, unless there is a cache of the same selection."""
        torch.manual_seed(self.conditions.seed)
        layer = config.build(self.settings.dim, self.settings.heads).to(self.conditions.device).eval()
        layer.load_state_dict(self.full.state_dict(), strict=False)
        memory_encoder = config.build_memory_encoder(self.settings.dim).to(self.conditions.device).eval()
        return layer, cache or layer.precompute(self.memory, memory_encoder(self.memory))

    def _queries(self, independent: bool) -> Tensor:
        """Draw the queries of a decoding step, (batch, beams, dim)."""
        settings = self.settings
        generator = torch.Generator().manual_seed(self.conditions.seed + 1)
        centre = torch.randn(settings.batch, 1, settings.dim, generator=generator)
        noise = torch.randn(settings.batch, settings.beams, settings.dim, generator=generator)
        return (noise if independent else centre + settings.state_noise * noise).to(self.conditions.device)


def _count(layer: SentenceCrossAttention, queries: Tensor, cache: Cache) -> tuple[float, int]:
    """Sentences that the hypotheses of a document select between them, and bytes that a step moves."""
    selected = layer.select_sentences(queries, cache)
    read = words_read(cache["mask"], cache["index"], selected)
    words = cache["words"]
    if is_worth_copying(int(read.sum(1).max()), read.size(1)):
        moved = 3 * int(read.sum()) * words.size(2) * words.element_size()  # read, written, read again
    else:
        moved = words.nbytes
    selecting = sum(tensor.nbytes for name, tensor in cache.items() if name.startswith("selection."))
    return float(selected.any(1).sum(1).float().mean()), moved + selecting


def measure_generations(
    systems: Mapping[str, CrossAttentionConfig],
    memory: Tokens,
    settings: SelectionConfig,
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


def _decoder(config: CrossAttentionConfig, settings: SelectionConfig, conditions: Conditions) -> Decoder:
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


def selection_result(steps: list[Row], generations: list[Row], settings: SelectionConfig) -> Result:
    """Tables of steps and generations."""
    steps, generations = (
        [row.also({"speedup": quotient(_time(_full(rows, row)), _time(row))}) for row in rows]
        for rows in (steps, generations)
    )
    sizes = settings.model_dump()
    similar, independent = (where(steps, {"independent": value}) for value in (False, True))
    faster = [
        f"{count} sentences {_describe_break_even(similar, {'selection': APPROXIMATE, 'sentences': count})}"
        for count in settings.sentences
    ]
    whole = [
        f"{name} {_describe_break_even(generations, {'selection': name})}"
        for name in unique(generations, "selection")
        if name != FULL
    ]
    tables = [
        _step_table(similar, sizes, "similar", [f"a step of {APPROXIMATE} is faster than full: {'; '.join(faster)}"]),
        _step_table(independent, sizes, "independent", []),
        make_table("generations", generations, sizes, notes=[f"all of it is faster than full: {'; '.join(whole)}"]),
    ]
    return Result({"steps": steps, "generations": generations}, tables)


def _time(row: Row) -> float:
    return float(row["median"] if row.timing else row["total"])


def _full(rows: Sequence[Row], row: Row) -> Row:
    """The row of full cross-attention at the same length and with the same hypotheses."""
    (full,) = where(rows, {"length": row["length"], "selection": FULL, "independent": row["independent"]})
    return full


def _describe_break_even(rows: list[Row], labels: dict[str, object]) -> str:
    """Say from which length on the rows of these labels are faster than full cross-attention."""
    selected = where(rows, labels)
    lengths = [row["length"] for row in selected]
    length = break_even(lengths, [_time(_full(rows, row)) for row in selected], [_time(row) for row in selected])
    if length is None:
        return f"nowhere up to {lengths[-1]:,} tokens"
    return f"at every length from {lengths[0]:,}" if length == lengths[0] else f"from about {length:,.0f} tokens"


def break_even(lengths: Sequence[int], full: Sequence[float], selected: Sequence[float]) -> float | None:
    """Find the length from which on selecting is faster, by linear interpolation between those measured.

    Returns:
        The first length where it is faster at all of them; None where it is not at the last.
    """
    saved = [full_time - time for full_time, time in zip(full, selected, strict=True)]
    if saved[-1] <= 0:
        return None
    for (shorter, lost), (longer, won) in reversed(list(pairwise(zip(lengths, saved, strict=True)))):
        if lost <= 0:
            return shorter + (longer - shorter) * lost / (lost - won)
    return float(lengths[0])


def _step_table(steps: list[Row], sizes: Mapping[str, Any], kind: str, notes: Sequence[str]) -> Table:
    """Steps of the approximate selection, and how many times faster than full every selection is."""
    names = [name for name in unique(steps, "selection") if name != FULL]
    lines = []
    for row in where(steps, {"selection": APPROXIMATE}):
        full = _full(steps, row)
        same = where(steps, {"length": row["length"], "sentences": row["sentences"]})
        speedups = {f"{other['selection']} speedup": other["speedup"] for other in same}
        lines.append(row.also({"full_bytes": full["bytes"], "full_seconds": full["median"], **speedups}))
    columns = [Column(name, f"{name} speedup", ",.1f") for name in names]
    return make_table("selection_steps", lines, {**sizes, "kind": kind}, columns=columns, notes=notes)
