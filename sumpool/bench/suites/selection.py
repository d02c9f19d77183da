"""Cross-attention to selected sentences against cross-attention to all words, in time (Manakul and Gales, 2021).

The paper counts operations, and says that its recurrent sentence encoder eats what they save. Here one layer's step of
a search is timed, then whole generations of a decoder: sentences, keys and values once, then every step with its causal
attention and feed-forward layers, all but the output head. What is compared has the same weights and takes turns.

Weights and documents are random. What is not random is how much the hypotheses of a document have in common, since
they write about the same: their states stand around one centre (see `SelectionConfig.apart`), and so do those of
successive steps, which is what makes a choice worth holding. Independent hypotheses, the worst case, stand beside.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, final

import torch
from torch import Tensor

from sumpool.bench.config import SelectionConfig
from sumpool.bench.measures.timing import Steps, Work, interleave
from sumpool.bench.suites.selection_generation import measure_generations
from sumpool.bench.suites.selection_rows import APPROXIMATE, FULL, GRU, FoundSelection, GenerationRow, HoldRow, StepRow
from sumpool.bench.systems.workload import Conditions
from sumpool.core.cross_attention._base import CrossAttentionConfig, StepState
from sumpool.core.cross_attention.full import FullCrossAttentionConfig
from sumpool.core.cross_attention.sentence import SentenceCrossAttention, SentenceCrossAttentionConfig
from sumpool.core.nn.gathering import is_worth_copying, words_read
from sumpool.core.tokens import Tokens
from sumpool.interruption import Check, go_on
from sumpool.progress import Report, silent

SELECTIONS: Mapping[str, dict[str, Any]] = {
    APPROXIMATE: {"kind": "approximate", "encoder": {"kind": "attention"}},
    GRU: {"kind": "approximate", "encoder": {"kind": "gru"}},
    "model_free": {"kind": "model_free"},
    "random": {"kind": "random"},
}
"""Settings of the selections by name; what encodes sentences makes no difference to a step."""


def measure_selection(
    settings: SelectionConfig, conditions: Conditions, report: Report = silent, check: Check = go_on
) -> FoundSelection:
    """Measure steps, held choices and whole generations at every length.

    Args:
        settings: Sizes and repetitions.
        conditions: Device, precision and seed.
        report: Told of every repetition and token.
        check: Called between them; it may raise to stop.
    """
    lengths, holds = sorted(set(settings.lengths)), sorted({1, *settings.holds})
    works = 2 * (1 + (len(SELECTIONS) - 1) * len(settings.sentences)) + len(holds)
    progress = Steps(len(lengths) * (works * (settings.repeats + 1) + settings.generate), report, check)
    systems: dict[str, CrossAttentionConfig] = {FULL: FullCrossAttentionConfig()} | {
        name: _config(selection, settings.generate_sentences) for name, selection in SELECTIONS.items()
    }
    steps: list[StepRow] = []
    held: list[HoldRow] = []
    generations: list[GenerationRow] = []
    with torch.inference_mode(), conditions.autocast():
        for length in lengths:
            memory = _remembered_documents(length, settings, conditions)
            layer = _Layer(memory, settings, conditions)
            steps += [*layer.steps(progress), *layer.steps(progress, independent=True)]
            held += layer.holds(holds, progress)
            del layer
            generations += measure_generations(systems, memory, settings, conditions, progress)
    progress.finish()
    return FoundSelection(tuple(steps), tuple(held), tuple(generations), settings.model_dump())


def _config(selection: dict[str, Any], sentences: int, hold: int = 1) -> SentenceCrossAttentionConfig:
    return SentenceCrossAttentionConfig.model_validate(
        {"sentences": sentences, "reselect_every": hold, "selection": selection}
    )


def _remembered_documents(length: int, settings: SelectionConfig, conditions: Conditions) -> Tokens:
    """Draw what an encoder left of a batch of documents without padding."""
    generator = torch.Generator().manual_seed(conditions.seed)
    states = torch.randn(settings.batch, length, settings.dim, generator=generator).to(conditions.device)
    mask = torch.ones(states.shape[:2], dtype=torch.bool, device=conditions.device)
    places = torch.arange(length, device=conditions.device).expand(mask.shape)
    return Tokens.from_source(states, mask, places // settings.sentence, places, places)


@final
class _Layer:
    """The cross-attention of one layer in all its forms, with the documents that it sees."""

    def __init__(self, memory: Tokens, settings: SelectionConfig, conditions: Conditions) -> None:
        self.memory, self.settings, self.conditions = memory, settings, conditions
        torch.manual_seed(conditions.seed)
        self.full = FullCrossAttentionConfig().build(settings.dim, settings.heads).to(conditions.device).eval()
        self.seen = self.full.precompute(memory, {})

    def steps(self, progress: Steps, independent: bool = False) -> list[StepRow]:
        """Measure a step of every selection with every number of sentences."""
        queries = self._states(1, independent)[0]
        works: dict[tuple[str, int], Work] = {(FULL, 0): partial(self.full.step, queries, self.seen, {})}
        counted = {(FULL, 0): (0.0, self.seen["key"].nbytes + self.seen["value"].nbytes)}
        for name, selection in SELECTIONS.items():
            if name == GRU:
                continue
            precomputed: dict[str, Tensor] = {}
            for sentences in self.settings.sentences:
                layer, precomputed = self._build(_config(selection, sentences), precomputed)
                works[name, sentences] = partial(layer.step, queries, precomputed, {})
                counted[name, sentences] = _count(layer, queries, precomputed)
        timings = interleave(works, self.settings.repeats, self.conditions.device, progress)
        length = self.memory.states.size(1)
        return [StepRow(length, *place, independent, *counted[place], timings[place]) for place in works]

    def holds(self, holds: list[int], progress: Steps) -> list[HoldRow]:
        """Measure steps of the approximate selection that hold a choice, and how far it agrees with choosing anew."""
        asked = self._states(max(holds), independent=False)
        works: dict[int, Work] = {}
        agreement: dict[int, float] = {}
        precomputed: dict[str, Tensor] = {}
        for hold in holds:
            layer, precomputed = self._build(
                _config(SELECTIONS[APPROXIMATE], self.settings.generate_sentences, hold), precomputed
            )
            works[hold] = partial(_search, layer, asked, precomputed)
            agreement[hold] = _agree(layer, asked, precomputed, hold)
        timings = interleave(works, self.settings.repeats, self.conditions.device, progress)
        length = self.memory.states.size(1)
        return [HoldRow(length, hold, agreement[hold], timings[hold].part(len(asked))) for hold in holds]

    def _build(
        self, config: SentenceCrossAttentionConfig, precomputed: dict[str, Tensor]
    ) -> tuple[SentenceCrossAttention, dict[str, Tensor]]:
        """Build with the weights of the full layer, the same ones for each number; remember unless it is done."""
        torch.manual_seed(self.conditions.seed)
        layer = config.build(self.settings.dim, self.settings.heads).to(self.conditions.device).eval()
        layer.load_state_dict(self.full.state_dict(), strict=False)
        reader = config.build_memory_encoder(self.settings.dim).to(self.conditions.device).eval()
        return layer, precomputed or layer.precompute(self.memory, reader(self.memory))

    def _states(self, steps: int, independent: bool) -> list[Tensor]:
        """Draw what the cross-attention is given in some steps of a search, (batch, beams, dim) each."""
        settings = self.settings
        generator = torch.Generator().manual_seed(self.conditions.seed + 1)
        centre = torch.randn(settings.batch, 1, settings.dim, generator=generator)
        noise = torch.randn(steps, settings.batch, settings.beams, settings.dim, generator=generator)
        return list((noise if independent else centre + settings.apart * noise).to(self.conditions.device))


def _count(layer: SentenceCrossAttention, queries: Tensor, precomputed: dict[str, Tensor]) -> tuple[float, int]:
    """Count sentences that the hypotheses of a document choose between them, and bytes that a step moves."""
    chosen = layer.select_sentences(queries, precomputed)
    read = words_read(precomputed["mask"], precomputed["index"], chosen)
    words = precomputed["words"]
    if is_worth_copying(int(read.sum(1).max()), read.size(1)):
        moved = 3 * int(read.sum()) * words.size(2) * words.element_size()  # read, written, read again
    else:
        moved = words.nbytes
    selecting = sum(kept.nbytes for name, kept in precomputed.items() if name.startswith("selection."))
    return float(chosen.any(1).sum(1).float().mean()), moved + selecting


def _search(layer: SentenceCrossAttention, asked: list[Tensor], precomputed: dict[str, Tensor]) -> None:
    held: StepState = {}
    for queries in asked:
        _, held = layer.step(queries, precomputed, held)


def _agree(layer: SentenceCrossAttention, asked: list[Tensor], precomputed: dict[str, Tensor], hold: int) -> float:
    """Share of the sentences that choosing anew would choose, and that the held choice has too."""
    anew = torch.stack(
        [layer.select_sentences(queries, precomputed) for queries in asked]
    )  # (steps, batch, beams, sentences)
    first = torch.arange(len(asked), device=anew.device) // hold * hold
    return float((anew & anew[first]).sum() / anew.sum())
