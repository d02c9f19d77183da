"""`sumpool bench`: a recipe, a run or the name of a suite in, what it costs out."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from sumpool.bench.complexity import count_complexity
from sumpool.bench.config import (
    ComplexityConfig,
    OperatorsConfig,
    SelectionConfig,
    ShorteningConfig,
    Suite,
    TablesConfig,
    TransformersConfig,
)
from sumpool.bench.machine import describe, versions
from sumpool.bench.models import measure_models
from sumpool.bench.operators import measure_operators
from sumpool.bench.paper import VOCABULARY
from sumpool.bench.paper_times import measure_tables
from sumpool.bench.result import BenchReport, Found
from sumpool.bench.selection import measure_selection
from sumpool.bench.shortening import measure_shortening
from sumpool.bench.sparsity import measure_sparsity
from sumpool.bench.transformers import measure_transformers
from sumpool.bench.workload import Conditions
from sumpool.errors import Interrupted
from sumpool.interruption import Check, go_on
from sumpool.progress import Report, silent
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.text.tokenizer import load_tokenizer
from sumpool.training.hardware import choose_device, choose_precision
from sumpool.workflows.attention import compare_selections, watch_sentences
from sumpool.workflows.loading import RUNS, load_model, newest_run
from sumpool.workflows.original import random_pair
from sumpool.workflows.suite_settings import SuiteConfig, load_sparsity, load_suite


def bench(
    target: Path | None = None,
    *,
    overrides: Sequence[str] = (),
    lengths: Sequence[int] = (),
    report: Report = silent,
    check: Check = go_on,
) -> BenchReport:
    """Measure a model beside its twins without pooling: encoding, a training step and generation by length.

    Weights and documents are random; device and precision are those of the recipe's `train` section.

    Args:
        target: A recipe, or a run folder; None takes the newest run.
        overrides: Settings to change, each like `bench.batch=8`.
        lengths: Source tokens; by default those of the recipe's `bench` section.
        report: Hears how it goes.
        check: Called between repetitions; when it raises, nothing is kept.

    Raises:
        RecipeError: If the recipe or a setting is wrong, or does not fit the machine.
        CheckpointError: If no target is given and there is no run.
        DataError: If the tokenizer that the recipe names is missing or damaged.
        Interrupted: If a signal has come; nothing is kept.
    """
    recipe = load_recipe(target or newest_run(RUNS), (*overrides, *_chosen(lengths)))
    device = choose_device(recipe.train.device)
    vocabulary = _vocabulary(recipe)
    conditions = Conditions(vocabulary, device, choose_precision(recipe.train.precision, device), recipe.seed)
    with _keeping_nothing():
        found = measure_models(recipe.model, recipe.bench, conditions, report=report, check=check)
    settings = {
        "bench": recipe.bench.model_dump(),
        "model": recipe.model.model_dump(),
        "vocabulary": vocabulary,
    }
    return _report(recipe.name, "model", conditions, settings, found)


def bench_suite(
    suite: Suite,
    *,
    overrides: Sequence[str] = (),
    lengths: Sequence[int] = (),
    report: Report = silent,
    check: Check = go_on,
) -> BenchReport:
    """Measure what the papers measure, and how a peer compares, without a recipe.

    Args:
        suite: "operators" pools random vectors, "complexity" counts operations, "tables" times the models of a table,
            "shortening" a model that pools less and more, "selection" cross-attentions that see some sentences,
            "transformers" an imported model beside the original.
        overrides: Settings of the suite to change, each like `bench.repeats=3` or `train.device=cuda`.
        lengths: Sets `bench.lengths`, where the suite has it.
        report: Hears how it goes.
        check: Called between repetitions; when it raises, nothing is kept.

    Raises:
        RecipeError: If a setting is wrong, or does not fit the machine.
        Interrupted: If a signal has come; nothing is kept.
    """
    settings = load_suite(suite, (*overrides, *_chosen(lengths)))
    device = choose_device(settings.train.device)
    precision = choose_precision(settings.train.precision, device)
    if isinstance(settings.bench, OperatorsConfig | ComplexityConfig | TransformersConfig):
        precision = torch.float32  # no products of matrices are timed, or their results are compared
    conditions = Conditions(VOCABULARY, device, precision, settings.seed)
    with _keeping_nothing():
        found = _measure(settings.bench, conditions, report, check)
    return _report("", suite, conditions, {"bench": settings.bench.model_dump(), "seed": settings.seed}, found)


def bench_sparsity(
    run: Path | None = None,
    *,
    overrides: Sequence[str] = (),
    lengths: Sequence[int] = (),
    report: Report = silent,
    check: Check = go_on,
) -> BenchReport:
    """Measure how few sentences hold a trained model's attention, and what a decoder of its shape costs.

    Args:
        run: A run folder; None takes the newest run.
        overrides: Settings to change, each like `bench.documents=20`, or `data.prepared=folder` of the run.
        lengths: Sets `bench.surface_lengths`.
        report: Hears how it goes.
        check: Called between documents and repetitions; when it raises, nothing is kept.

    Raises:
        CheckpointError: If there is no model, or it is damaged.
        DataError: If the run's prepared data is missing or has no validation documents.
        RecipeError: If a setting is wrong, or the model's cross-attention has no query and key of each word.
        Interrupted: If a signal has come; nothing is kept.
    """
    of_run = [each for each in overrides if each.startswith("data.")]
    chosen = [f"bench.surface_lengths={list(lengths)}"] if lengths else []
    settings = load_sparsity([*(each for each in overrides if each not in of_run), *chosen])
    loaded = load_model(run, [*of_run, f"summarize.device={settings.train.device}"])
    precision = choose_precision(settings.train.precision, loaded.device)
    conditions = Conditions(loaded.tokenizer.vocabulary, loaded.device, precision, settings.seed)
    with _keeping_nothing():
        attention = watch_sentences(loaded, settings.bench.documents)
        losses = compare_selections(loaded, settings.bench.documents, settings.bench.seen, check)
        found = measure_sparsity(attention, losses, loaded.recipe.model, settings.bench, conditions, report, check)
    kept: dict[str, object] = {"bench": settings.bench.model_dump(), "model": loaded.recipe.model.model_dump()}
    return _report(loaded.recipe.name, "sparsity", conditions, kept, found)


def _measure(settings: SuiteConfig, conditions: Conditions, report: Report, check: Check) -> Found:
    match settings:
        case OperatorsConfig():
            return measure_operators(settings, conditions, report, check)
        case ComplexityConfig():
            return count_complexity(settings, report, check)
        case TablesConfig():
            return measure_tables(settings, conditions, report, check)
        case ShorteningConfig():
            return measure_shortening(settings, conditions, report, check)
        case SelectionConfig():
            return measure_selection(settings, conditions, report, check)
        case TransformersConfig():
            pair = random_pair(settings, conditions.seed)
            here = replace(conditions, vocabulary=len(pair.numbers))
            return measure_transformers(pair, settings, here, report, check)


def _vocabulary(recipe: Recipe) -> int:
    """Find out how many pieces the model of a recipe knows."""
    if recipe.data.vocabulary is None:
        assert recipe.data.tokenizer, "one of the two is set"
        return load_tokenizer(recipe.data.tokenizer).vocabulary
    return recipe.data.vocabulary


def _chosen(lengths: Sequence[int]) -> tuple[str, ...]:
    return (f"bench.lengths={list(lengths)}",) if lengths else ()


@contextmanager
def _keeping_nothing() -> Iterator[None]:
    """Say of a signal that what was measured is lost.

    Raises:
        Interrupted: If a signal has come.
    """
    try:
        yield
    except Interrupted as stop:
        name = signal.Signals(stop.number).name
        raise Interrupted(stop.number, f"stopped by {name}; a benchmark that is not finished keeps nothing") from stop


def _report(recipe: str, suite: str, conditions: Conditions, settings: dict[str, object], found: Found) -> BenchReport:
    """Add everything that it takes to read the figures."""
    return BenchReport(
        recipe=recipe,
        suite=suite,
        machine=describe(conditions.device),
        versions=versions(),
        device=conditions.device.type,
        precision="bf16" if conditions.precision is torch.bfloat16 else "fp32",
        settings=settings,
        found=found,
    )
