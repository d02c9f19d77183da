"""Cross-attention to selected sentences against cross-attention to all words, in time (Manakul and Gales, 2021).

The paper counts operations, and says that its recurrent sentence encoder offsets what they save. Here one layer's
decoding step is timed, then whole generations of a decoder: sentences, keys and values once, then every step with its
causal attention and feed-forward layers, all but the output head. All systems have the same weights and take turns.

Weights and documents are random. What is not random is the similarity of the hypotheses of a document: their states lie
around one centre (see `SelectionBenchConfig.state_noise`), and so do those of successive steps, which is what makes a
selection worth reusing. Independent hypotheses, the worst case, are measured too.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, final

import torch
from torch import Tensor

from sumpool.bench.config import SelectionBenchConfig
from sumpool.bench.measures.timing import Steps, Timing, Work, interleave
from sumpool.bench.results.report import Result
from sumpool.bench.results.table import Row
from sumpool.bench.suites.selection_generation import measure_generations
from sumpool.bench.suites.selection_tables import APPROXIMATE, FULL, GRU, selection_result
from sumpool.bench.suites.sparsity import reuse_agreement
from sumpool.bench.systems.workload import Conditions
from sumpool.core.cross_attention._base import CrossAttentionConfig, StepState
from sumpool.core.cross_attention.full import FullCrossAttentionConfig
from sumpool.core.cross_attention.sentence import SentenceCrossAttention, SentenceCrossAttentionConfig
from sumpool.core.nn.gathering import is_worth_copying, words_read
from sumpool.core.tokens import Tokens
from sumpool.progress import Check, Report, go_on, silent

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
    settings: SelectionBenchConfig, conditions: Conditions, report: Report = silent, check: Check = go_on
) -> Result:
    """Measure steps, reused selections and whole generations at every length."""
    lengths, intervals = sorted(set(settings.lengths)), sorted({1, *settings.reselect_every})
    tasks = 2 * (1 + (len(SELECTIONS) - 1) * len(settings.sentences)) + len(intervals)
    progress = Steps(len(lengths) * (tasks * (settings.repeats + 1) + settings.generate), report, check)
    systems: dict[str, CrossAttentionConfig] = {FULL: FullCrossAttentionConfig()} | {
        name: _config(selection, settings.generate_sentences) for name, selection in SELECTIONS.items()
    }
    steps: list[Row] = []
    reused: list[Row] = []
    generations: list[Row] = []
    with torch.inference_mode(), conditions.autocast():
        for length in lengths:
            memory = _random_memory(length, settings, conditions)
            layer = _Layer(memory, settings, conditions)
            steps += [*layer.steps(progress), *layer.steps(progress, independent=True)]
            reused += layer.reuse(intervals, progress)
            del layer
            generations += measure_generations(systems, memory, settings, conditions, progress)
    progress.finish()
    return selection_result(steps, reused, generations, settings)


def _config(selection: dict[str, Any], sentences: int, interval: int = 1) -> SentenceCrossAttentionConfig:
    settings = {"sentences": sentences, "reselect_every": interval, "selection": selection}
    return SentenceCrossAttentionConfig.model_validate(settings)


def _random_memory(length: int, settings: SelectionBenchConfig, conditions: Conditions) -> Tokens:
    """Encoder output of a batch of random documents without padding."""
    generator = torch.Generator().manual_seed(conditions.seed)
    states = torch.randn(settings.batch, length, settings.dim, generator=generator).to(conditions.device)
    mask = torch.ones(states.shape[:2], dtype=torch.bool, device=conditions.device)
    positions = torch.arange(length, device=conditions.device).expand(mask.shape)
    return Tokens.from_source(states, mask, positions // settings.sentence, positions, positions)


@final
class _Layer:
    """The cross-attention of one layer in all its forms, with the documents that it sees."""

    def __init__(self, memory: Tokens, settings: SelectionBenchConfig, conditions: Conditions) -> None:
        self.memory, self.settings, self.conditions = memory, settings, conditions
        self.length = memory.states.size(1)
        torch.manual_seed(conditions.seed)
        self.full = FullCrossAttentionConfig().build(settings.dim, settings.heads).to(conditions.device).eval()
        self.full_cache = self.full.precompute(memory, {})

    def steps(self, progress: Steps, independent: bool = False) -> list[Row]:
        """Measure a step of every selection with every number of sentences."""
        queries = self._states(1, independent)[0]
        tasks: dict[tuple[str, int], Work] = {(FULL, 0): partial(self.full.step, queries, self.full_cache, {})}
        counted = {(FULL, 0): (0.0, self.full_cache["key"].nbytes + self.full_cache["value"].nbytes)}
        for name in [name for name in SELECTIONS if name != GRU]:
            cache: Cache = {}
            for sentences in self.settings.sentences:
                layer, cache = self._build(_config(SELECTIONS[name], sentences), cache)
                tasks[name, sentences] = partial(layer.step, queries, cache, {})
                counted[name, sentences] = _count(layer, queries, cache)
        timings = interleave(tasks, self.settings.repeats, self.conditions.device, progress)
        rows = []
        for (name, sentences), (selected, moved) in counted.items():
            labels = {"length": self.length, "selection": name, "sentences": sentences, "independent": independent}
            rows.append(Row({**labels, "selected": selected, "bytes": moved}, timings[name, sentences]))
        return rows

    def reuse(self, intervals: list[int], progress: Steps) -> list[Row]:
        """Measure steps of the approximate selection that reuse it, and its agreement with selecting at every step."""
        queries = self._states(max(intervals), independent=False)
        tasks: dict[int, Work] = {}
        agreement: dict[int, float] = {}
        cache: Cache = {}
        for interval in intervals:
            config = _config(SELECTIONS[APPROXIMATE], self.settings.generate_sentences, interval)
            layer, cache = self._build(config, cache)
            tasks[interval] = partial(_search, layer, queries, cache)
            selected = torch.stack([layer.select_sentences(query, cache) for query in queries])
            agreement[interval] = reuse_agreement(selected, interval)
        rows = []
        for interval, timing in interleave(tasks, self.settings.repeats, self.conditions.device, progress).items():
            step = Timing(tuple(seconds / len(queries) for seconds in timing.seconds))
            values = {"length": self.length, "reselect_every": interval, "agreement": agreement[interval]}
            rows.append(Row(values, step))
        return rows

    def _build(self, config: SentenceCrossAttentionConfig, cache: Cache) -> tuple[SentenceCrossAttention, Cache]:
        """Build with the weights of the full layer; precompute, unless there is a cache of the same selection."""
        torch.manual_seed(self.conditions.seed)
        layer = config.build(self.settings.dim, self.settings.heads).to(self.conditions.device).eval()
        layer.load_state_dict(self.full.state_dict(), strict=False)
        memory_encoder = config.build_memory_encoder(self.settings.dim).to(self.conditions.device).eval()
        return layer, cache or layer.precompute(self.memory, memory_encoder(self.memory))

    def _states(self, steps: int, independent: bool) -> list[Tensor]:
        """Draw the queries of some decoding steps, (batch, beams, dim) each."""
        settings = self.settings
        generator = torch.Generator().manual_seed(self.conditions.seed + 1)
        centre = torch.randn(settings.batch, 1, settings.dim, generator=generator)
        noise = torch.randn(steps, settings.batch, settings.beams, settings.dim, generator=generator)
        return list((noise if independent else centre + settings.state_noise * noise).to(self.conditions.device))


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


def _search(layer: SentenceCrossAttention, queries: list[Tensor], cache: Cache) -> None:
    state: StepState = {}
    for query in queries:
        _, state = layer.step(query, cache, state)
