"""A run beside LED of Hugging Face and its Trainer: a row of each, and what to know before they are compared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from sumpool.bench.peers.trainer import Learnt, Lessons, TrainerConfig
from sumpool.bench.results.result import Found
from sumpool.bench.results.table import Table, number, significant
from sumpool.core.output.tied import TiedOutputConfig
from sumpool.data.shards import Shard
from sumpool.evaluation.scorer import SummaryScorer
from sumpool.inference.loading import LoadedModel
from sumpool.runs.run_metrics import SCORES, RunMetrics
from sumpool.runs.sweep_table import HOW_TO_READ, Outcome, SweepTable, tabulate
from sumpool.training.hardware import choose_generation_precision

LED = "LED"
_UPDATES = 6
"""Column of the sweep's table that the updates come before."""


@dataclass(frozen=True)
class Shown:
    """What a run has shown.

    Attributes:
        measured: As in a sweep.
        before: Seconds of an update with its longest batch, when it was judged first.
        now: The same now: what else the machine does tells in both.
    """

    measured: RunMetrics
    before: float
    now: float


@final
@dataclass(frozen=True)
class FoundTrainer(Found):
    """A run and LED.

    Attributes:
        table: A row of each, the run's first.
        losses: Of each, seconds of updates before each validation, and its loss in nats per token.
        summaries: What LED wrote, by document.
    """

    table: SweepTable
    losses: tuple[tuple[tuple[float, float], ...], ...]
    summaries: dict[str, str]

    def tables(self) -> Iterator[Table]:
        """A row of each as in the table of a sweep, and how their losses fell."""
        columns, rows = self.table.table()
        cells = ["updates", *(f"{sum(system.steps):,}" for system in self.table.systems)]
        first, *others = (
            (*line[:_UPDATES], cell, *line[_UPDATES:]) for line, cell in zip([columns, *rows], cells, strict=True)
        )
        names = [system.name for system in self.table.systems]
        yield Table(f"{names[0]} beside {LED} and its Trainer", first, tuple(others), self.table.notes)
        falling = tuple(
            (str(place), *(cell for seconds, loss in pair for cell in (number(seconds, 0), number(loss, 3))))
            for place, pair in enumerate(zip(*self.losses, strict=False), 1)
        )
        heads = (cell for name in names for cell in (f"{name}, s", "nats per token"))
        yield Table("validations", ("", *heads), falling)


def found_trainer(
    loaded: LoadedModel,
    settings: TrainerConfig,
    lessons: Lessons,
    ours: Shown,
    learnt: Learnt,
    documents: Shard,
    summaries: Sequence[str],
) -> FoundTrainer:
    """Score what LED wrote as `sumpool evaluate` does, and put both side by side.

    Args:
        loaded: The run.
        settings: Of the benchmark.
        lessons: What LED learnt from.
        ours: What the run has shown.
        learnt: What LED has shown.
        documents: What both wrote about.
        summaries: Of LED, in the order of the documents.
    """
    recipe = loaded.recipe
    theirs = RunMetrics(
        rouge=_score(loaded, documents, summaries),
        loss=learnt.loss,
        losses=learnt.losses,
        tokens_per_second=learnt.tokens_per_second,
        peak_memory=learnt.peak_memory,
        layer_metrics={},
    )
    parameters = sum(parameter.numel() for parameter in loaded.model.parameters())
    outcomes = [
        Outcome(recipe.name, recipe.seed, parameters, len(ours.measured.tokens_per_second), ours.measured),
        Outcome(LED, recipe.seed, learnt.parameters, learnt.updates, theirs),
    ]
    target = None if settings.loss == "auto" else settings.loss
    notes = _notes(loaded, settings, lessons, ours)
    return FoundTrainer(
        table=tabulate(outcomes, target, recipe.evaluate.resamples, notes),
        losses=(tuple(ours.measured.losses), learnt.losses),
        summaries={documents[place].id: summary for place, summary in enumerate(summaries)},
    )


def _score(loaded: LoadedModel, documents: Shard, summaries: Sequence[str]) -> dict[str, tuple[float, ...]]:
    rouge = SummaryScorer(loaded.recipe.evaluate).rouge
    found = {}
    for place, summary in enumerate(summaries):
        example = documents.text(place)
        scores = rouge.score(summary, example.summary)
        found[example.id] = tuple(scores[name].f1 for name in SCORES)
    return found


def _notes(loaded: LoadedModel, settings: TrainerConfig, lessons: Lessons, ours: Shown) -> list[str]:
    recipe, descent = loaded.recipe, lessons.descent
    seconds, _ = ours.measured.losses[-1]
    precision = choose_generation_precision(recipe.summarize.precision, loaded.device)
    is_tied = isinstance(recipe.model.output, TiedOutputConfig)
    notes = [
        f"{LED} has the run's sizes, pieces, documents and seed; it learns from random weights for "
        f"{lessons.seconds:,.0f} s of updates, where the run took {seconds:,.0f}",
        f"an update of the run with its longest batch took {significant(ours.before)} s when the run was judged, and "
        f"{significant(ours.now)} s right before {LED} began: equal times are as equal as these two",
        f"its learning rate peaks at {descent.learning_rate:g} and follows the run's schedule by the share of that "
        f"time; {lessons.batch} documents a batch, as many as the run's have on average, of similar length",
        "a window as wide as the run's block, the first token global; learned positions and no head that copies, as "
        f"transformers offers it{'' if is_tied else ': among ours its peers are runs with model.output: {kind: tied}'}",
        f"{len(ours.measured.rouge):,} documents of {settings.split} are scored; [ ]: 95 % interval over documents",
        f"{LED} writes in fp32 with generate and the run in {precision} with its own search, under the same lengths, "
        "number of beams and rules against repetition",
        *HOW_TO_READ,
    ]
    if recipe.summarize.beams > 1 and recipe.summarize.length_formula != "transformers":
        notes.append(f"{LED} compares its {recipe.summarize.beams} hypotheses by the length formula of transformers")
    return notes
