"""How few sentences hold the attention of a trained model, and what its decoder costs (Manakul and Gales, 2021).

Figure 1 is of the model's weights: the attention to all words is summed over sentences, and the sums of the best ones
are averaged over the tokens of a summary and over summaries. Table 1 and Appendix B fit times by polynomials in the
lengths of summary and document; a model of the same shape with random weights takes the same time. We fit the fastest
repetitions, which other work disturbs least, where the paper averages a hundred.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import product

import torch
from torch import Tensor

from sumpool.bench.config import SparsityConfig
from sumpool.bench.measures.regression import regress
from sumpool.bench.measures.timing import Steps, Work, interleave
from sumpool.bench.suites.sparsity_rows import MODES, FoundSparsity, KeptRow, LossRow, ModeRow, SurfaceRow
from sumpool.bench.systems.workload import Conditions, Documents, Subject
from sumpool.core.model.config import ModelConfig
from sumpool.interruption import Check, go_on
from sumpool.progress import Report, silent


def measure_sparsity(
    attention: Iterable[Sequence[Tensor]],
    losses: Iterable[LossRow],
    config: ModelConfig,
    settings: SparsityConfig,
    conditions: Conditions,
    report: Report = silent,
    check: Check = go_on,
) -> FoundSparsity:
    """Sum up the attention of a trained model, and time one of its shape.

    Args:
        attention: For each document, for each layer of the decoder, shares (target, sentences); at least one document.
        losses: What choosing sentences costs the model, by selection.
        config: The model.
        settings: Numbers of sentences, lengths and repetitions.
        conditions: Device, precision, seed and vocabulary.
        report: Told of every document and repetition.
        check: Called between them; it may raise to stop.
    """
    surface = len(settings.surface_lengths) * len(settings.targets)
    works = len(MODES) * len(settings.targets) + surface
    steps = Steps(settings.documents + works * (settings.repeats + 1), report, check)
    documents = []
    for layers in attention:
        steps()
        documents.append(layers)
    compared = tuple(losses)
    kept = tuple(_keep(number, layers, settings) for number, layers in enumerate(zip(*documents, strict=True), 1))
    longest = max(settings.length, *settings.surface_lengths)
    sizes = {"source_length": longest, "target_length": max(settings.targets)}
    subject = Subject(config.model_copy(update=sizes), conditions)
    modes = _time_modes(subject, settings, steps)
    surfaces = _time_surface(subject, settings, steps)
    steps.finish()
    sentences = sum(layers[0].size(1) for layers in documents) / len(documents)
    return FoundSparsity(kept, compared, modes, surfaces, len(documents), sentences, settings.model_dump())


def _keep(number: int, documents: Sequence[Tensor], settings: SparsityConfig) -> KeptRow:
    """Sum up what the best sentences of one layer hold."""
    most = max(shares.size(1) for shares in documents)
    total = torch.zeros(most, dtype=torch.float64)
    for shares in documents:
        best = shares.double().sort(dim=1, descending=True).values.cumsum(1).mean(0).cpu()  # (sentences,)
        total += torch.cat([best, torch.ones(most - len(best))])
    agreement = {}
    for hold in settings.holds:
        agreed = [
            _agree(shares, settings.sentences, hold) for shares in documents if shares.size(1) > settings.sentences
        ]
        agreement[hold] = sum(agreed) / len(agreed) if agreed else None
    return KeptRow(number, tuple((total / len(documents)).tolist()), agreement)


def _agree(shares: Tensor, sentences: int, hold: int) -> float:
    """Share of the best sentences at each token that were among the best when a choice was last made."""
    best = torch.zeros_like(shares, dtype=torch.bool).scatter(1, shares.topk(sentences, dim=1).indices, value=True)
    chosen = best[torch.arange(len(best), device=best.device) // hold * hold]
    return float((best & chosen).sum() / best.sum())


def _time_modes(subject: Subject, settings: SparsityConfig, steps: Steps) -> tuple[ModeRow, ...]:
    """Table 1: time by length of the summary."""
    works: dict[tuple[str, int], Work] = {}
    for target in settings.targets:
        documents = Documents.random(settings.batch, settings.length, target, subject.conditions)
        doing = (subject.train, subject.score, subject.generate_greedily)
        for mode, work in zip(MODES, doing, strict=True):
            works[mode, target] = partial(work, documents)
    timings = interleave(works, settings.repeats, subject.conditions.device, steps)
    rows = []
    for mode in MODES:
        times = [timings[mode, target].fastest for target in settings.targets]
        fitted = regress([(1, target, target**2) for target in settings.targets], times)
        rows.append(ModeRow(mode, tuple(times), fitted))
    return tuple(rows)


def _time_surface(subject: Subject, settings: SparsityConfig, steps: Steps) -> SurfaceRow:
    """Appendix B: time of forward and backward by lengths of summary and document."""
    places = list(product(settings.targets, settings.surface_lengths))
    works: dict[tuple[int, int], Work] = {}
    for target, length in places:
        documents = Documents.random(settings.batch, length, target, subject.conditions)
        works[target, length] = partial(subject.train, documents)
    timings = interleave(works, settings.repeats, subject.conditions.device, steps)
    times = tuple(timings[place].fastest for place in places)
    terms = [(1, target, length, target * length, target**2, length**2) for target, length in places]
    return SurfaceRow(tuple(places), times, regress(terms, times))
