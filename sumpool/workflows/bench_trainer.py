"""`sumpool bench trainer RUN`: a finished run in, the same row for LED of Hugging Face and its Trainer out."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from statistics import fmean

import numpy as np

from sumpool.bench.peers.build import require_trainer
from sumpool.bench.peers.trainer import Descent, Learnt, Lessons, TrainerConfig
from sumpool.bench.results.result import BenchReport
from sumpool.bench.systems.workload import Conditions
from sumpool.core.decoding.constraints import TokenSurfaces
from sumpool.data.fingerprint import content_digest
from sumpool.data.shards import Shard
from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.inference.chunking import batch_chunks
from sumpool.inference.loading import RUNS, LoadedModel, load_model, newest_run
from sumpool.interruption import Check, go_on
from sumpool.io.manifest import Manifest
from sumpool.progress import Progress, Report, silent
from sumpool.recipe.schema import Recipe
from sumpool.runs.run_metrics import RunMetrics, read_dry_run
from sumpool.training.data_order import TrainingData
from sumpool.training.hardware import choose_device, choose_precision
from sumpool.training.optimizer import schedule_factor
from sumpool.training.validation import validation_batches
from sumpool.workflows.bench_report import chosen_lengths, compose, keeping_nothing
from sumpool.workflows.suite_settings import load_trainer
from sumpool.workflows.sweep import evaluate_finished_run
from sumpool.workflows.train import dry_run
from sumpool.workflows.trainer_rows import Shown, found_trainer

_LIBRARIES = ("transformers", "accelerate")
_OF_RUN = ("data.", "train.device=")
"""Settings of the run that may be others here, because nothing that it learnt depends on them."""


def bench_trainer(
    run: Path | None = None,
    *,
    overrides: Sequence[str] = (),
    lengths: Sequence[int] = (),
    report: Report = silent,
    check: Check = go_on,
) -> BenchReport:
    """Train LED of transformers as a run was trained, on its data and for its time, and judge both alike.

    What is found of the run stays in its folder, as after `sumpool evaluate` and in a sweep.

    Args:
        run: The folder of a finished run; None takes the newest run.
        overrides: Settings to change, each like `bench.seconds=60`, or `data.prepared=folder` and `train.device=cpu` of
            the run.
        lengths: Must be empty; those of the run hold.
        report: Hears how it goes.
        check: Called between updates and documents; when it raises, nothing of LED is kept.

    Raises:
        RecipeError: If transformers or accelerate is not installed, or a setting is wrong.
        CheckpointError: If there is no finished run, or it is damaged.
        DataError: If the run's prepared data is missing or other data.
        NonFiniteError: If LED learns nothing but overflows.
        Interrupted: If a signal has come; nothing of LED is kept.
    """
    # 1. What can be wrong, first: libraries, settings, the run and its data.
    require_trainer()
    of_run = [each for each in overrides if each.startswith(_OF_RUN)]
    settings = load_trainer([*(each for each in overrides if each not in of_run), *chosen_lengths(lengths)])
    loaded = load_model(run or newest_run(RUNS), of_run)
    recipe = loaded.recipe
    if not recipe.train.steps:
        raise RecipeError(f"{loaded.folder} must have learnt for LED to learn as long, but its train.steps is 0")
    material = _material(loaded)
    device = choose_device(recipe.train.device)
    precision = choose_precision(recipe.train.precision, device)
    conditions = Conditions(loaded.tokenizer.vocab_size, device, precision, recipe.seed)
    with keeping_nothing():
        # 2. What the run has shown, and how fast the machine is now beside what it was then.
        ours = evaluate_finished_run(
            loaded.folder, recipe, settings.split, overrides=of_run, report=report, check=check
        )
        now = dry_run(recipe, report=report, check=check).seconds
        shown = Shown(ours, read_dry_run(loaded.folder).seconds, now)
        # 3. LED learns from the same documents for the same time.
        from sumpool.bench.peers.led_trainer import teach

        lessons = _lessons(recipe, material, settings, ours, conditions)
        learnt = teach(lessons, report, check)
        # 4. It writes about the same documents, and is scored alike.
        shard = Shard.open(recipe.prepared_folder, settings.split)
        summaries = _write(learnt, loaded, shard, report, check)
    # 5. Side by side.
    found = found_trainer(loaded, settings, lessons, shown, learnt, shard, summaries)
    kept: dict[str, object] = {"bench": settings.model_dump(), "recipe": recipe.model_dump(mode="json")}
    composed = compose(recipe.name, "trainer", conditions, kept, found)
    return replace(composed, versions=composed.versions | {name: version(name) for name in _LIBRARIES})


def _material(loaded: LoadedModel) -> TrainingData:
    """Find what a run has learnt from.

    Raises:
        CheckpointError: If it is not finished.
        DataError: If the prepared data is missing or other data.
    """
    recipe, facts = loaded.recipe, Manifest.read(loaded.folder).facts
    if "finished" not in facts:
        raise CheckpointError(
            f"{loaded.folder} must be a run whose training is finished, for its time is what LED gets; let it go on"
        )
    prepared = recipe.prepared_folder
    if facts.get("data") != content_digest(prepared):
        raise DataError(
            f"{prepared} must hold the data that {loaded.folder} was trained on, got other data: name the old folder "
            "with --set data.prepared=FOLDER"
        )
    shards = Shard.open(prepared, "train"), Shard.open(prepared, "validation")
    special_tokens = loaded.tokenizer.special_tokens
    lengths = recipe.model.source_length, recipe.model.target_length
    return TrainingData(*shards, *lengths, recipe.seed, special_tokens=special_tokens)


def _lessons(
    recipe: Recipe, material: TrainingData, settings: TrainerConfig, ours: RunMetrics, conditions: Conditions
) -> Lessons:
    """Say in numbers what the run was like: its batches, its schedule, its time and when it was validated."""
    train = recipe.train
    seconds, _ = ours.losses[-1]
    batches = material.plan(train.batch_tokens).batches(0)
    descent = Descent(
        learning_rate=train.learning_rate if settings.learning_rate == "auto" else settings.learning_rate,
        rate=lambda share: schedule_factor(int(share * train.steps), train.schedule, train.steps),
        betas=train.betas,
        weight_decay=train.weight_decay,
        clip=train.clip,
        label_smoothing=train.label_smoothing,
    )
    return Lessons(
        config=recipe.model,
        training=material.training,
        validation=[
            [material.validation[number] for number in numbers] for numbers in validation_batches(material, train)
        ],
        batch=max(1, round(fmean(map(len, batches)))),
        accumulate=train.accumulate,
        descent=descent,
        seconds=seconds if settings.seconds == "auto" else settings.seconds,
        shares=[before / seconds for before, _ in ours.losses],
        conditions=conditions,
    )


def _write(learnt: Learnt, loaded: LoadedModel, shard: Shard, report: Report, check: Check) -> list[str]:
    """Let LED summarise a split, document by document in its order."""
    from sumpool.bench.peers.led_writer import LedWriter

    config, sizes = loaded.recipe.summarize, loaded.recipe.model
    writer = LedWriter(learnt.model, sizes, config, loaded.lengths)
    pieces = TokenSurfaces(loaded.tokenizer.token_bytes())
    read = np.minimum(shard.lengths, sizes.source_length)
    written: dict[int, str] = {}
    for numbers in batch_chunks(read.tolist(), config.batch_tokens):
        check()
        found = writer.write([shard[place] for place in numbers], pieces)
        written.update(zip(numbers, (loaded.tokenizer.decode(summary).strip() for summary in found), strict=True))
        report(Progress("LED: summaries", len(written), len(shard)))
    return [written[place] for place in range(len(shard))]
