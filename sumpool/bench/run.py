"""`sumpool bench`: a model beside its baselines and peers, from settings to report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sumpool.bench.config import BenchConfig, BenchSettings, load_settings, split_overrides
from sumpool.bench.models.length_sweep import measure_models
from sumpool.bench.results.report import UNFINISHED, BenchReport, make_report
from sumpool.bench.workload import Conditions
from sumpool.errors import CheckpointError
from sumpool.inference.model_choice import RUNS, newest_run
from sumpool.progress import Check, Progress, Report, no_op, told_when_stopped
from sumpool.recipe.load import load_recipe, make_recipe
from sumpool.recipe.packaged import find_recipe
from sumpool.recipe.schema import Recipe
from sumpool.text.load import load_tokenizer
from sumpool.training.hardware import choose_device, choose_generation_precision, choose_precision


def bench(
    target: str | Path | BenchReport | None = None,
    *,
    overrides: Sequence[str] = (),
    lengths: Sequence[int] = (),
    peers: bool = False,
    report: Report = no_op,
    check: Check = no_op,
) -> BenchReport:
    """Measure a model beside its baselines and peers: encoding, a training step and generation by length.

    Weights and documents are random.

    Args:
        target: A recipe, a run folder, or an earlier benchmark, whose model and settings are taken. None takes the
            newest run, or a small built-in model.
        overrides: Settings to change, each like `bench.batch=8`.
        lengths: Source tokens; by default those of the `bench` section.
        peers: Whether models of transformers and CTranslate2 in the same sizes take part.
        report: Receives progress.
        check: Called between repetitions; when it raises, nothing is kept.

    Raises:
        RecipeError: If the recipe or a setting is wrong, or does not fit the machine; or if a library is missing.
        DataError: If a tokenizer is missing or damaged.
        Interrupted: If a signal has come; nothing is kept.
    """
    named = find_recipe(Path(target)) if isinstance(target, str | Path) else target
    changes = [*overrides, *([f"bench.lengths={list(lengths)}"] if lengths else [])]
    with told_when_stopped(UNFINISHED):
        return _bench(named, changes, peers, report, check)


def _bench(
    target: Path | BenchReport | None, overrides: Sequence[str], peers: bool, report: Report, check: Check
) -> BenchReport:
    changes, of_recipe = split_overrides(overrides, ("bench.",))
    recipe = _recipe(target, of_recipe, report)
    settings = load_settings(recipe.name, BenchSettings[BenchConfig], changes, {"bench": recipe.bench or {}}).bench
    device = choose_device(recipe.train.device)
    vocabulary = vocabulary_size(recipe)
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


def vocabulary_size(recipe: Recipe) -> int:
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
