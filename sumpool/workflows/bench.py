"""`sumpool bench`: measure a model by length, a suite of the papers' benchmarks, or a trained run."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sumpool.bench.config import BenchSettings, TrainerConfig, load_settings, split_overrides
from sumpool.bench.results.report import BenchReport, make_report
from sumpool.bench.run import SUITES, run_approximation, run_model, run_scaling, run_sparsity, run_suite
from sumpool.bench.workload import Conditions
from sumpool.inference.loading import load_model
from sumpool.inference.model_choice import RUNS, newest_run
from sumpool.progress import Check, Report, no_op, told_when_stopped
from sumpool.recipe.packaged import find_recipe
from sumpool.runs.run_metrics import read_dry_run
from sumpool.training.hardware import choose_device, choose_precision
from sumpool.workflows.bench_corpus import bench_corpus
from sumpool.workflows.bench_generation import bench_generation
from sumpool.workflows.bench_language_models import bench_language_models
from sumpool.workflows.bench_lra import bench_lra
from sumpool.workflows.sweep import evaluate_finished_run
from sumpool.workflows.train import dry_run

_STUDIES = {"lra": bench_lra, "language-models": bench_language_models}
"""Benchmarks that train models of their own."""
_OF_RUN = ("data.", "train.device=")
"""Settings of a run that may be changed here, because its weights do not depend on them."""


def bench(
    target: str | Path | BenchReport | None = None,
    run: Path | None = None,
    *,
    overrides: Sequence[str] = (),
    lengths: Sequence[int] = (),
    peers: bool = False,
    report: Report = no_op,
    check: Check = no_op,
) -> BenchReport:
    """Measure a model beside its baselines, or a suite; weights and documents are random but for a trained run.

    Args:
        target: A recipe, a run folder, or an earlier benchmark, whose model and settings are taken; the name of a
            suite; "sparsity", "trainer", "generation" or "corpus" for a trained run. None takes the newest run, or a
            small built-in model.
        run: The run folder of "sparsity", "trainer", "generation" or "corpus", where None takes the newest run; or
            of "approximation"; the recipe of "scaling", where None takes the default one.
        overrides: Settings to change, each like `bench.batch=8`, or `data.prepared=folder` of a run.
        lengths: Source tokens; by default those of the `bench` section.
        peers: Whether models of transformers and CTranslate2 in the same sizes take part.
        report: Receives progress.
        check: Called between repetitions; when it raises, nothing is kept.

    Raises:
        RecipeError: If the recipe or a setting is wrong, or does not fit the machine; or if a library is missing.
        CheckpointError: If a run is missing, unfinished or damaged.
        DataError: If a tokenizer or prepared data is missing, damaged or other data.
        NonFiniteError: If a trained peer overflows.
        Interrupted: If a signal has come; nothing is kept.
    """
    name = "surface_lengths" if target == "sparsity" else "lengths"
    changes = [*overrides, *([f"bench.{name}={list(lengths)}"] if lengths else [])]
    suite = next((name for name in SUITES if name == target), None)
    study = next((name for name in _STUDIES if name == target), None)
    kept = "the runs so far are kept" if study else "a benchmark that is not finished keeps nothing"
    with told_when_stopped(kept):
        if target == "approximation" and run:
            return run_approximation(run, changes, report, check)
        if target == "scaling":
            return run_scaling(find_recipe(run or Path("default")), changes, report, check)
        if suite:
            return run_suite(suite, changes, report, check)
        if target == "sparsity":
            return run_sparsity(run, changes, report, check)
        if target == "corpus":
            return bench_corpus(run, changes, peers, report, check)
        if target == "generation":
            return bench_generation(run, changes, report, check)
        if study:
            return _STUDIES[study](changes, report, check)
        if target == "trainer":
            return _trainer(run, changes, report, check)
        model = find_recipe(Path(target)) if isinstance(target, str | Path) else target
        return run_model(model, changes, peers, report, check)


def _trainer(run: Path | None, overrides: Sequence[str], report: Report, check: Check) -> BenchReport:
    """Train LED of transformers on a run's data for the run's time, and evaluate both in the same way."""
    from sumpool.bench.peers.build import library_versions, require_trainer
    from sumpool.bench.peers.trainer import FinishedRun, measure_trainer, training_data

    require_trainer()
    of_run, changes = split_overrides(overrides, _OF_RUN)
    settings = load_settings("bench trainer", BenchSettings[TrainerConfig], changes).bench
    loaded = load_model(run or newest_run(RUNS), of_run)
    data, recipe = training_data(loaded), loaded.recipe
    device = choose_device(recipe.train.device)
    precision = choose_precision(recipe.train.precision, device)
    conditions = Conditions(loaded.tokenizer.vocab_size, device, precision, recipe.seed)
    measured = evaluate_finished_run(loaded.folder, recipe, "validation", overrides=of_run, report=report, check=check)
    now = dry_run(recipe, report=report, check=check).seconds
    ours = FinishedRun(measured, read_dry_run(loaded.folder).seconds, now)
    result = measure_trainer(loaded, data, settings, ours, conditions, report, check)
    kept = {"bench": settings.model_dump(), "recipe": recipe.model_dump(mode="json")}
    composed = make_report(recipe.name, "trainer", conditions, kept, result)
    return replace(composed, versions=composed.versions | library_versions())
