"""What all studies share: their settings, the tables of `tables.toml`, and runs of equal compute.

Studies that train give all rows the updates that a budget of processor time buys: what the process itself used, so that
another one on the same machine does not shorten a run. On a GPU it is the time until an update has finished.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any, Generic, Literal

import torch
from pydantic import Field
from torch import nn

from sumpool.bench import results
from sumpool.bench.config import Section, load_settings
from sumpool.bench.results import BenchReport, Result, make_report, write_report
from sumpool.bench.workload import Conditions
from sumpool.data.batches import Position, TrainingData, updates_from
from sumpool.errors import CheckpointError
from sumpool.evaluation.statistics import Estimate
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.bounded import read_json
from sumpool.progress import Check, Progress, Report
from sumpool.recipe.load import load_any_recipe
from sumpool.recipe.schema import BaseRecipe
from sumpool.runs.run_folder import RECIPE
from sumpool.runs.training_setup import set_up_training
from sumpool.settings import Settings
from sumpool.training.config import TrainConfig
from sumpool.training.hardware import choose_device, choose_precision, reproducible
from sumpool.training.update import Updater

make_table = partial(results.make_table, package=__package__)
"""`make_table` of the tables of studies."""


class Hardware(Settings):
    """Device and precision, as in a recipe."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the models run; auto takes a GPU if there is one."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Precision of matrix products; auto takes bf16 where it is fast."""


class StudySettings(Settings, Generic[Section]):
    """Everything that a study depends on; where it has a recipe, device, precision and seed are those of the recipe."""

    study: Section
    """Settings of the study."""
    seed: int = Field(1, ge=0, lt=2**31)
    """Seed of everything random."""
    train: Hardware = Hardware()
    """Device and precision."""


def load_study(name: str, section: type[Section], overrides: Sequence[str] = ()) -> StudySettings[Section]:
    """Validate the settings of a study.

    Raises:
        RecipeError: If a setting is wrong; names all problems.
    """
    return load_settings(f"study {name}", StudySettings[section], overrides, {"study": {}})  # type: ignore[valid-type]


TIMES = "processor_seconds.json"
"""File with the processor time of the training of each run, in the folder of the runs."""
MEASURED = 5
"""Updates at the end of a trial that count."""
_WARMUP_SHARE = 10
"""Updates per update of warm-up at least, in runs shorter than those of the recipe."""
_T_QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""97.5th percentiles of Student's t for 1 to 9 degrees of freedom."""


def budget_steps(
    recipe: BaseRecipe, runs: Sequence[Path], minutes: float, trial: int, report: Report, check: Check
) -> int:
    """Return the updates of runs of one recipe that take a time: those of a run that has begun, else by a trial.

    Raises:
        RecipeError: If the settings do not fit the model.
        DataError: If the data is missing or damaged.
        ResourceError: If memory runs out.
    """
    for run in runs:
        if (run / RECIPE).is_file():
            return load_any_recipe(run).train.steps
    setup = set_up_training(recipe, report, check)
    device = choose_device(recipe.train.device)
    seconds = trial_seconds(setup.model, setup.data, recipe.train, device, trial, check)
    steps = max(1, round(60 * minutes / seconds))
    report(Progress("study", note=f"{runs[0]}: {seconds:.3f} processor s per update, {steps:,} updates"))
    return steps


def trial_seconds(
    model: nn.Module, data: TrainingData, config: TrainConfig, device: torch.device, updates: int, check: Check
) -> float:
    """Return the processor seconds of an update at the end of a short trial, which changes the model's weights.

    The cost of an update follows the shortening factor, which learned boundaries change in the first updates.

    Args:
        model: A model with initial weights.
        data: Training data.
        config: Settings of training; the learning rate is constant in the trial.
        device: Device.
        updates: Updates of the trial, at least one more than `MEASURED`.
        check: Called before each update.

    Raises:
        RecipeError: If the settings do not fit the model.
        ResourceError: If memory runs out.
    """
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    updater, seconds = Updater(model.to(device), config, device), []
    wanted = max(updates, MEASURED + 1)
    with reproducible(device):
        for indices, _ in islice(updates_from(Position(), data.plan(config.batch_tokens), config.accumulate), wanted):
            check()
            start = clock()
            updater.update([data.batch(data.training, batch) for batch in indices], rate=config.learning_rate).read()
            seconds.append(clock() - start)
    return median(seconds[-MEASURED:])


def with_steps(config: TrainConfig, steps: int, validations: int) -> TrainConfig:
    """Return settings of other updates, with a warm-up and at least so many validations in proportion."""
    warmup = min(config.schedule.warmup, steps // _WARMUP_SHARE)
    changes: dict[str, Any] = {
        "steps": steps,
        "schedule": config.schedule.model_copy(update={"warmup": warmup}),
        "validate_every": max(1, min(config.validate_every, steps // validations)),
    }
    return config.model_copy(update=changes)


def over_seeds(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean over seeds with its 95 % interval by Student's t; of one seed, its own interval over rows."""
    if len(estimates) == 1:
        return estimates[0]
    means = [estimate.mean for estimate in estimates]
    quantile = _T_QUANTILES[len(means) - 2] if len(means) - 2 < len(_T_QUANTILES) else 1.96
    margin = quantile * stdev(means) / len(means) ** 0.5
    return Estimate(fmean(means), fmean(means) - margin, fmean(means) + margin)


def report_runs(
    name: str, title: str, study: Settings, recipe: BaseRecipe, seed: int, result: Result, path: Path
) -> BenchReport:
    """Make the report of a study that trains, and write it as JSON."""
    device = choose_device(recipe.train.device)
    conditions = Conditions(0, device, choose_precision(recipe.train.precision, device), seed)
    settings = {"study": study.model_dump(mode="json"), "recipe": recipe.model_dump(mode="json")}
    report = make_report(title, name, conditions, settings, result)
    write_report(report, path)
    return report


@contextmanager
def clocked(run: Path) -> Iterator[None]:
    """Add the processor time of a block to that of a run, also if the block is stopped.

    Raises:
        CheckpointError: If the file of the times is damaged.
        ResourceError: If the disk is full or fails.
    """
    start = time.process_time()
    try:
        yield
    finally:
        times = read_times(run.parent)
        spent = times.get(run.name, 0.0) + time.process_time() - start
        with disk_errors(run.parent):
            run.parent.mkdir(parents=True, exist_ok=True)
            replace_file(run.parent / TIMES, json.dumps({**times, run.name: spent}, indent=2).encode())


def read_times(folder: Path) -> dict[str, float]:
    """Read the processor seconds of the runs in a folder by name; empty before the first.

    Raises:
        CheckpointError: If the file is damaged.
    """
    path = folder / TIMES
    if not path.exists():
        return {}
    times = read_json(path, CheckpointError, "delete it")
    try:
        return {str(name): float(seconds) for name, seconds in times.items()}
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path} must hold processor seconds by run, got {error}; delete it") from error
