"""`sumpool bench`: a recipe or a run in, what its model costs out."""

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import torch

from sumpool.bench.machine import describe, versions
from sumpool.bench.operator import measure_operators
from sumpool.bench.result import BenchReport, ModelRow, OperatorRow
from sumpool.bench.suites import fit_growth, measure_models
from sumpool.bench.workload import Conditions
from sumpool.errors import Interrupted
from sumpool.interruption import Check, go_on
from sumpool.progress import Report, silent
from sumpool.recipe.load import load_recipe
from sumpool.training.hardware import choose_device, choose_precision
from sumpool.workflows.loading import RUNS, newest_run

Suite = Literal["model", "operators"]


def bench(
    target: Path | None = None,
    suite: Suite = "model",
    *,
    overrides: Sequence[str] = (),
    lengths: Sequence[int] = (),
    report: Report = silent,
    check: Check = go_on,
) -> BenchReport:
    """Measure a model beside its twins without pooling, or the pooling operators alone.

    Weights and documents are random; device and precision are those of the recipe's `train` section.

    Args:
        target: A recipe, or a run folder; None takes the newest run.
        suite: "model" measures encoding, training and generation by length; "operators" pools random vectors.
        overrides: Settings to change, each like `bench.batch=8`.
        lengths: Source tokens; by default those of the recipe's `bench` section.
        report: Hears how it goes.
        check: Called between repetitions; when it raises, nothing is kept.

    Raises:
        RecipeError: If the recipe or a setting is wrong, or does not fit the machine.
        CheckpointError: If no target is given and there is no run.
        Interrupted: If a signal has come; nothing is kept.
    """
    # 1. What is measured, and where.
    chosen = (f"bench.lengths={list(lengths)}",) if lengths else ()
    recipe = load_recipe(target or newest_run(RUNS), (*overrides, *chosen))
    device = choose_device(recipe.train.device)
    precision = choose_precision(recipe.train.precision, device)
    conditions = Conditions(recipe.data.vocabulary, device, precision, recipe.seed)
    # 2. Figures of models and how they grow, or of operators.
    models: tuple[ModelRow, ...] = ()
    operators: tuple[OperatorRow, ...] = ()
    try:
        if suite == "operators":
            operators = measure_operators(recipe.bench.repeats, device, recipe.seed, check)
        else:
            models = measure_models(recipe.model, recipe.bench, conditions, report, check)
    except Interrupted as stop:
        name = signal.Signals(stop.number).name
        raise Interrupted(stop.number, f"stopped by {name}; a benchmark that is not finished keeps nothing") from stop
    # 3. Everything that it takes to read them.
    return BenchReport(
        recipe=recipe.name,
        suite=suite,
        machine=describe(device),
        versions=versions(),
        device=device.type,
        precision="bf16" if precision is torch.bfloat16 and suite == "model" else "fp32",
        settings={
            "bench": recipe.bench.model_dump(),
            "model": recipe.model.model_dump(),
            "vocabulary": recipe.data.vocabulary,
        },
        models=models,
        growth=fit_growth(models),
        operators=operators,
    )
