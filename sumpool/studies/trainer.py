"""Comparison of a finished run with LED of transformers, trained on the same data for the same time."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

import numpy as np

from sumpool.bench.results.report import Result
from sumpool.bench.results.table import significant, text_table
from sumpool.bench.workload import Conditions
from sumpool.core.decoding.constraints import TokenSurfaces
from sumpool.core.output.tied import TiedOutputConfig
from sumpool.data.fingerprint import content_digest
from sumpool.data.shards import Shard
from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.evaluation.scorer import SummaryScorer
from sumpool.inference.loading import LoadedModel
from sumpool.inference.model_input import batch_inputs
from sumpool.io.manifest import Manifest
from sumpool.progress import Check, Progress, Report
from sumpool.runs.run_data import prepared_data_of
from sumpool.runs.run_metrics import SCORES, RunMetrics
from sumpool.runs.sweep_table import HOW_TO_READ, Outcome, SweepTable, tabulate
from sumpool.studies.config import TrainerConfig
from sumpool.studies.led import LedGenerator, TrainerSetup, train_led
from sumpool.studies.study import make_table
from sumpool.training.data_order import TrainingData
from sumpool.training.hardware import choose_generation_precision

LED = "LED"
_UPDATES = 6
"""Column of the sweep's table that the updates come before."""


@dataclass(frozen=True)
class FinishedRun:
    """Metrics of a finished run, and the speed of the machine.

    Attributes:
        metrics: Metrics of the run.
        seconds_before: Seconds of an update with the longest batch when the run was first evaluated.
        seconds_now: Seconds of such an update now.
    """

    metrics: RunMetrics
    seconds_before: float
    seconds_now: float


def training_data(loaded: LoadedModel) -> TrainingData:
    """Data that a finished run was trained on.

    Raises:
        RecipeError: If the run has no updates.
        CheckpointError: If the run is not finished.
        DataError: If the prepared data is missing or other data.
    """
    recipe, facts = loaded.recipe, Manifest.read(loaded.folder).facts
    if not recipe.train.steps:
        raise RecipeError(f"{loaded.folder} must have learnt for LED to learn as long, but its train.steps is 0")
    if "finished" not in facts:
        raise CheckpointError(
            f"{loaded.folder} must be a run whose training is finished, for its time is what LED gets; let it go on"
        )
    prepared = prepared_data_of(loaded.folder, recipe)
    if facts.get("data") != content_digest(prepared):
        raise DataError(
            f"{prepared} must hold the data that {loaded.folder} was trained on, got other data: name the old folder "
            "with --set data.prepared=FOLDER"
        )
    shards = Shard.open(prepared, "train"), Shard.open(prepared, "validation")
    lengths = (recipe.model.source_length, recipe.model.target_length)
    return TrainingData(*shards, *lengths, recipe.seed, special_tokens=loaded.model.special_tokens)


def measure_trainer(
    loaded: LoadedModel,
    data: TrainingData,
    settings: TrainerConfig,
    ours: FinishedRun,
    conditions: Conditions,
    report: Report,
    check: Check,
) -> Result:
    """Train LED, score its summaries as `sumpool evaluate` does, and put both side by side."""
    recipe = loaded.recipe
    setup = _setup(loaded, data, settings, ours.metrics, conditions)
    trained = train_led(setup, report, check)
    shard = Shard.open(prepared_data_of(loaded.folder, recipe), "validation")
    summaries = _summaries(trained.model, loaded, shard, report, check)
    theirs = RunMetrics(
        rouge=_score(loaded, shard, summaries),
        loss=min(loss for _, loss in trained.losses),
        losses=trained.losses,
        tokens_per_second=trained.tokens_per_second,
        peak_memory=trained.peak_memory,
        layer_metrics={},
    )
    parameters = sum(parameter.numel() for parameter in loaded.model.parameters())
    runs = {recipe.name: (parameters, ours.metrics), LED: (trained.parameters, theirs)}
    outcomes = [
        Outcome(name, recipe.seed, size, len(measured.tokens_per_second), measured)
        for name, (size, measured) in runs.items()
    ]
    target = None if settings.loss == "auto" else settings.loss
    table = tabulate(outcomes, target, recipe.evaluate.resamples, _notes(loaded, setup, ours))
    losses = (tuple(ours.metrics.losses), trained.losses)
    return trainer_result(table, losses, {shard.text(place).id: text for place, text in enumerate(summaries)})


def trainer_result(
    table: SweepTable, losses: Sequence[Sequence[tuple[float, float]]], summaries: dict[str, str]
) -> Result:
    """Tables of both systems and of their validations."""
    names = [system.name for system in table.systems]
    headings, rows = table.table()
    cells = ["updates", *(f"{sum(system.steps):,}" for system in table.systems)]
    first, *lines = (
        (*line[:_UPDATES], cell, *line[_UPDATES:]) for line, cell in zip([headings, *rows], cells, strict=True)
    )
    validations = [
        (str(number), *(cell for seconds, loss in pair for cell in (f"{seconds:,.0f}", f"{loss:,.3f}")))
        for number, pair in enumerate(zip(*losses, strict=False), 1)
    ]
    heads = [cell for name in names for cell in (f"{name}, s", "nats per token")]
    tables = [
        text_table(f"{names[0]} beside {LED} and its Trainer", first, lines, table.notes),
        text_table("validations", ("", *heads), validations),
    ]
    return Result({}, tables, {"table": asdict(table), "losses": losses, "summaries": summaries})


def _setup(
    loaded: LoadedModel, data: TrainingData, settings: TrainerConfig, ours: RunMetrics, conditions: Conditions
) -> TrainerSetup:
    """Batches, schedule, time and validations of the run."""
    train = loaded.recipe.train
    if settings.learning_rate != "auto":
        train = train.model_copy(update={"learning_rate": settings.learning_rate})
    seconds, _ = ours.losses[-1]
    batches = data.plan(train.batch_tokens).batches(0)
    return TrainerSetup(
        config=loaded.recipe.model,
        train=train,
        data=data,
        batch=max(1, round(fmean(map(len, batches)))),
        seconds=seconds if settings.seconds == "auto" else settings.seconds,
        shares=[before / seconds for before, _ in ours.losses],
        conditions=conditions,
    )


def _summaries(model: object, loaded: LoadedModel, shard: Shard, report: Report, check: Check) -> list[str]:
    """Summaries of LED for a split, in its order."""
    config, sizes = loaded.recipe.summarize, loaded.recipe.model
    generator = LedGenerator(model, sizes, config, loaded.lengths, loaded.model.special_tokens)
    surfaces = TokenSurfaces(loaded.tokenizer.token_bytes())
    lengths = np.minimum(shard.lengths, sizes.source_length)
    summaries: dict[int, str] = {}
    for numbers in batch_inputs(lengths.tolist(), config.batch_tokens):
        check()
        tokens = generator.generate([shard[number] for number in numbers], surfaces)
        summaries.update(zip(numbers, (loaded.tokenizer.decode(summary).strip() for summary in tokens), strict=True))
        report(Progress("LED: summaries", len(summaries), len(shard)))
    return [summaries[number] for number in range(len(shard))]


def _score(loaded: LoadedModel, shard: Shard, summaries: Sequence[str]) -> dict[str, tuple[float, ...]]:
    rouge = SummaryScorer(loaded.recipe.evaluate).rouge
    scored = {}
    for number, summary in enumerate(summaries):
        example = shard.text(number)
        scores = rouge.score(summary, example.summary)
        scored[example.id] = tuple(scores[name].f1 for name in SCORES)
    return scored


def _notes(loaded: LoadedModel, setup: TrainerSetup, ours: FinishedRun) -> list[str]:
    """Notes below the table."""
    decoding = loaded.recipe.summarize
    tied = isinstance(loaded.recipe.model.output, TiedOutputConfig)
    facts = {
        "seconds": setup.seconds,
        "run_seconds": ours.metrics.losses[-1][0],
        "before": significant(ours.seconds_before),
        "now": significant(ours.seconds_now),
        "learning_rate": setup.train.learning_rate,
        "batch": setup.batch,
        "tied": "" if tied else ": among ours its peers are runs with model.output: {kind: tied}",
        "documents": len(ours.metrics.rouge),
        "precision": choose_generation_precision(decoding.precision, loaded.device),
    }
    notes = [*make_table("trainer", [], facts).notes, *HOW_TO_READ["rouge"]]
    if decoding.beams > 1 and decoding.length_formula != "transformers":
        notes.append(f"{LED} compares its {decoding.beams} hypotheses by the length formula of transformers")
    return notes
