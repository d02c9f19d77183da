"""`sumpool bench SUITE`: the name of a suite in, what it costs out."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from sumpool.bench.config import (
    ComplexityConfig,
    OperatorsConfig,
    SelectionConfig,
    ShorteningConfig,
    Suite,
    TablesConfig,
    TransformersConfig,
)
from sumpool.bench.results.result import BenchReport, Found
from sumpool.bench.suites.complexity import count_complexity
from sumpool.bench.suites.operators import measure_operators
from sumpool.bench.suites.paper import VOCABULARY
from sumpool.bench.suites.paper_times import measure_tables
from sumpool.bench.suites.selection import measure_selection
from sumpool.bench.suites.shortening import measure_shortening
from sumpool.bench.suites.sparsity import measure_sparsity
from sumpool.bench.suites.transformers import measure_transformers
from sumpool.bench.systems.workload import Conditions
from sumpool.inference.loading import load_model
from sumpool.interruption import Check, go_on
from sumpool.progress import Report, silent
from sumpool.training.hardware import choose_device, choose_precision
from sumpool.workflows.attention import compare_selections, watch_sentences
from sumpool.workflows.bench_report import chosen_lengths, compose, keeping_nothing
from sumpool.workflows.original import random_pair
from sumpool.workflows.suite_settings import SuiteConfig, load_sparsity, load_suite


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
    settings = load_suite(suite, (*overrides, *chosen_lengths(lengths)))
    device = choose_device(settings.train.device)
    precision = choose_precision(settings.train.precision, device)
    if isinstance(settings.bench, OperatorsConfig | ComplexityConfig | TransformersConfig):
        precision = torch.float32  # no products of matrices are timed, or their results are compared
    conditions = Conditions(VOCABULARY, device, precision, settings.seed)
    with keeping_nothing():
        found = _measure(settings.bench, conditions, report, check)
    return compose("", suite, conditions, {"bench": settings.bench.model_dump(), "seed": settings.seed}, found)


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
    conditions = Conditions(loaded.tokenizer.vocab_size, loaded.device, precision, settings.seed)
    with keeping_nothing():
        attention = watch_sentences(loaded, settings.bench.documents)
        losses = compare_selections(loaded, settings.bench.documents, settings.bench.seen, check)
        found = measure_sparsity(attention, losses, loaded.recipe.model, settings.bench, conditions, report, check)
    kept: dict[str, object] = {"bench": settings.bench.model_dump(), "model": loaded.recipe.model.model_dump()}
    return compose(loaded.recipe.name, "sparsity", conditions, kept, found)


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
