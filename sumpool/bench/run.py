"""Benchmarks from settings to report: of a recipe, of a suite, and of a trained model's attention."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from sumpool.bench import config
from sumpool.bench.config import (
    AttentionsConfig,
    BenchSettings,
    DepthConfig,
    ScalingConfig,
    Suite,
    SuiteSettings,
    load_settings,
    split_overrides,
)
from sumpool.bench.models.length_sweep import measure_models
from sumpool.bench.results.report import BenchReport, Result, make_report
from sumpool.bench.suites.approximation import measure_approximations, trained_inputs
from sumpool.bench.suites.attention_costs import measure_attention_costs
from sumpool.bench.suites.complexity import count_complexity
from sumpool.bench.suites.depth import measure_depth
from sumpool.bench.suites.operators import measure_operators
from sumpool.bench.suites.paper_times import VOCABULARY, measure_tables
from sumpool.bench.suites.scaling import measure_scaling
from sumpool.bench.suites.selection import measure_selection
from sumpool.bench.suites.shortening import measure_shortening
from sumpool.bench.suites.sparsity import measure_sparsity, selection_losses, validation_attention
from sumpool.bench.suites.transformers import measure_transformers, random_pair
from sumpool.bench.workload import Conditions
from sumpool.errors import CheckpointError
from sumpool.inference.loading import load_model
from sumpool.inference.model_choice import RUNS, newest_run
from sumpool.progress import Check, Progress, Report
from sumpool.recipe.load import load_recipe, make_recipe
from sumpool.recipe.packaged import find_recipe
from sumpool.recipe.schema import Recipe
from sumpool.text.load import load_tokenizer
from sumpool.training.hardware import choose_device, choose_generation_precision, choose_precision

SUITES: Mapping[Suite, tuple[type[SuiteSettings[Any]], Callable[..., Result]]] = {
    "operators": (SuiteSettings[config.OperatorsConfig], measure_operators),
    "complexity": (SuiteSettings[config.ComplexityConfig], count_complexity),
    "tables": (SuiteSettings[config.TablesConfig], measure_tables),
    "shortening": (SuiteSettings[config.ShorteningConfig], measure_shortening),
    "selection": (SuiteSettings[config.SelectionBenchConfig], measure_selection),
    "transformers": (SuiteSettings[config.TransformersConfig], measure_transformers),
    "approximation": (SuiteSettings[config.ApproximationConfig], measure_approximations),
    "attentions": (SuiteSettings[AttentionsConfig], measure_attention_costs),
    "depth": (SuiteSettings[DepthConfig], measure_depth),
}
"""Settings and measure of each suite."""
_UNTIMED = ("operators", "complexity", "transformers", "approximation")
"""Suites in which no matrix products are timed, or whose results are compared: always in float32."""


def run_model(
    target: Path | BenchReport | None, overrides: Sequence[str], peers: bool, report: Report, check: Check
) -> BenchReport:
    """Measure a model beside its baselines and peers: encoding, a training step and generation by length."""
    changes, of_recipe = split_overrides(overrides, ("bench.",))
    recipe = _recipe(target, of_recipe, report)
    settings = load_settings(recipe.name, BenchSettings[config.BenchConfig], changes, recipe.bench).bench
    device = choose_device(recipe.train.device)
    vocabulary = _vocabulary(recipe)
    conditions = Conditions(vocabulary, device, choose_precision(recipe.train.precision, device), recipe.seed)
    contenders, libraries = {}, {}
    if peers:
        from sumpool.bench.peers.build import chosen_peers, library_versions

        contenders, libraries = chosen_peers(recipe.model, settings, conditions, report), library_versions()
    generation = choose_generation_precision(settings.precision, device, "bench.precision")
    packed = settings.model_copy(update={"precision": generation})
    result = measure_models(recipe.model, packed, conditions, contenders, report, check)
    kept = {
        "bench": settings.model_dump(),
        "model": recipe.model.model_dump(),
        "vocabulary": vocabulary,
        "recipe": recipe.model_dump(mode="json", exclude_none=True, exclude={"bench"}),
    }
    composed = make_report(recipe.name, "model", conditions, kept, result)
    precision = composed.precision
    if generation != precision:
        others = ", the fastest of each peer" if peers else ""
        precision = f"{generation} of encoding and generation, {precision} of training{others}"
    return replace(composed, precision=precision, versions=composed.versions | libraries)


def run_scaling(target: Path, overrides: Sequence[str], report: Report, check: Check) -> BenchReport:
    """Project the training of a recipe on many devices."""
    changes, of_recipe = split_overrides(overrides, ("bench.",))
    recipe = _recipe(target, of_recipe, report)
    settings = load_settings("bench scaling", BenchSettings[ScalingConfig], changes).bench
    device = choose_device(recipe.train.device)
    precision = choose_precision(recipe.train.precision, device)
    conditions = Conditions(_vocabulary(recipe), device, precision, recipe.seed)
    update_tokens = recipe.train.batch_tokens * recipe.train.accumulate
    result = measure_scaling(recipe.model, update_tokens, settings, conditions, report, check)
    kept = {"bench": settings.model_dump(), "model": recipe.model.model_dump()}
    return make_report(recipe.name, "scaling", conditions, kept, result)


def run_suite(
    name: Suite,
    overrides: Sequence[str],
    report: Report,
    check: Check,
) -> BenchReport:
    """Measure what the papers measure, and how transformers compares, without a recipe."""
    schema, measure = SUITES[name]
    settings = load_settings(f"bench {name}", schema, overrides)
    device = choose_device(settings.train.device)
    precision = torch.float32 if name in _UNTIMED else choose_precision(settings.train.precision, device)
    conditions = Conditions(VOCABULARY, device, precision, settings.seed)
    if name == "transformers":
        pair = random_pair(settings.bench, settings.seed)
        conditions = replace(conditions, vocabulary=pair.ours.vocabulary)
        measure = partial(measure, pair)
    result = measure(settings.bench, conditions, report, check)
    return make_report("", name, conditions, {"bench": settings.bench.model_dump(), "seed": settings.seed}, result)


def run_sparsity(run: Path | None, overrides: Sequence[str], report: Report, check: Check) -> BenchReport:
    """Measure how few sentences hold a trained model's attention, and what a decoder of its shape costs."""
    of_run, changes = split_overrides(overrides, ("data.",))
    settings = load_settings("bench sparsity", SuiteSettings[config.SparsityConfig], changes)
    loaded = load_model(run, [*of_run, f"summarize.device={settings.train.device}"])
    precision = choose_precision(settings.train.precision, loaded.device)
    conditions = Conditions(loaded.tokenizer.vocab_size, loaded.device, precision, settings.seed)
    attention = validation_attention(loaded, settings.bench.documents)
    losses = selection_losses(loaded, settings.bench.documents, settings.bench.loss_sentences, check)
    result = measure_sparsity(attention, losses, loaded.recipe.model, settings.bench, conditions, report, check)
    kept = {"bench": settings.bench.model_dump(), "model": loaded.recipe.model.model_dump()}
    return make_report(loaded.recipe.name, "sparsity", conditions, kept, result)


def run_approximation(run: Path, overrides: Sequence[str], report: Report, check: Check) -> BenchReport:
    """Measure how well attentions approximate others, with random weights and with those of a trained encoder."""
    of_run, changes = split_overrides(overrides, ("data.",))
    settings = load_settings("bench approximation", SuiteSettings[config.ApproximationConfig], changes)
    loaded = load_model(run, [*of_run, f"summarize.device={settings.train.device}"])
    conditions = Conditions(loaded.tokenizer.vocab_size, loaded.device, torch.float32, settings.seed)
    trained = [*trained_inputs(loaded, settings.bench.documents)]
    result = measure_approximations(settings.bench, conditions, report, check, trained)
    kept = {"bench": settings.bench.model_dump(), "seed": settings.seed, "model": loaded.recipe.model.model_dump()}
    return make_report(loaded.recipe.name, "approximation", conditions, kept, result)


def _vocabulary(recipe: Recipe) -> int:
    """Return the number of tokens of a recipe's vocabulary."""
    if recipe.data.vocabulary is not None:
        return recipe.data.vocabulary
    assert recipe.data.tokenizer, "one of the two is set"
    return load_tokenizer(recipe.data.tokenizer).vocab_size


def _recipe(target: Path | BenchReport | None, overrides: Sequence[str], report: Report) -> Recipe:
    """Recipe of what is measured."""
    if isinstance(target, BenchReport):
        kept = target.settings
        tree = {"name": target.recipe, **kept.get("recipe", {}), "model": kept["model"], "bench": kept["bench"]}
        tree["data"] = {"phrases": tree.get("data", {}).get("phrases", 0), "vocabulary": kept["vocabulary"]}
        return make_recipe(tree, overrides, Path(target.recipe))
    if target is not None:
        return load_recipe(target, overrides)
    try:
        folder = newest_run(RUNS)
    except CheckpointError:
        report(Progress("bench", note=f"there is no run in {RUNS}: measuring the model of the quickstart"))
        return load_recipe(find_recipe(Path("quickstart")), overrides)
    report(Progress("bench", note=f"measuring the newest run, {folder}"))
    return load_recipe(folder, overrides)
