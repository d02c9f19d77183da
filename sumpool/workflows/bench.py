"""`sumpool bench`: a recipe, a run or nothing in, a model beside its twins and peers out."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from sumpool.bench.models.measure import NOBODY, measure_models
from sumpool.bench.results.result import BenchReport
from sumpool.bench.systems.builtin import NAME, QUICKSTART, VOCABULARY
from sumpool.bench.systems.contender import Contender
from sumpool.bench.systems.workload import Conditions
from sumpool.core.nn.quantization import Precision
from sumpool.errors import CheckpointError, RecipeError
from sumpool.inference.loading import RUNS, newest_run
from sumpool.interruption import Check, go_on
from sumpool.progress import Progress, Report, silent
from sumpool.recipe.load import load_recipe, make_recipe
from sumpool.recipe.schema import Recipe
from sumpool.text.load import load_tokenizer
from sumpool.training.hardware import choose_device, choose_generation_precision, choose_precision
from sumpool.workflows.bench_report import chosen_lengths, compose, keeping_nothing

_LIBRARIES = ("transformers", "ctranslate2")
"""Where peers come from."""


def bench(
    target: Path | BenchReport | None = None,
    *,
    overrides: Sequence[str] = (),
    lengths: Sequence[int] = (),
    peers: bool = False,
    report: Report = silent,
    check: Check = go_on,
) -> BenchReport:
    """Measure a model beside its twins without pooling: encoding, a training step and generation by length.

    Weights and documents are random. Device and precision of a training step are those of the recipe's `train` section.

    Args:
        target: A recipe, a run folder, or an earlier benchmark, whose model and settings are taken; None takes the
            newest run, or a small built-in model where there is none.
        overrides: Settings to change, each like `bench.batch=8`.
        lengths: Source tokens; by default those of the `bench` section.
        peers: Whether models of transformers and CTranslate2 in the same sizes take part.
        report: Hears how it goes.
        check: Called between repetitions; when it raises, nothing is kept.

    Raises:
        RecipeError: If the recipe or a setting is wrong, or does not fit the machine; or if peers are not installed.
        DataError: If the tokenizer that the recipe names is missing or damaged.
        Interrupted: If a signal has come; nothing is kept.
    """
    recipe = _recipe(target, (*overrides, *chosen_lengths(lengths)), report)
    device = choose_device(recipe.train.device)
    vocabulary = _vocabulary(recipe)
    conditions = Conditions(vocabulary, device, choose_precision(recipe.train.precision, device), recipe.seed)
    writing = choose_generation_precision(recipe.bench.precision, device, "bench.precision")
    contenders = _peers(recipe, conditions, report) if peers else NOBODY
    with keeping_nothing():
        settings = recipe.bench.model_copy(update={"precision": writing})
        found = measure_models(recipe.model, settings, conditions, contenders, report, check)
    kept = {
        "bench": recipe.bench.model_dump(),
        "model": recipe.model.model_dump(),
        "vocabulary": vocabulary,
        "recipe": recipe.model_dump(mode="json", exclude_none=True),
    }
    composed = compose(recipe.name, "model", conditions, kept, found)
    libraries = {name: version(name) for name in _LIBRARIES if contenders and find_spec(name)}
    return replace(
        composed,
        precision=_precisions(writing, composed.precision, peers=peers),
        versions=composed.versions | libraries,
    )


def _precisions(writing: Precision, training: str, *, peers: bool) -> str:
    """Say who computes in which precision."""
    others = " and of the peers" if peers else ""
    if writing == training:
        return writing
    return f"{writing} of reading and writing, {training} of training{others}"


def _recipe(target: Path | BenchReport | None, overrides: Sequence[str], report: Report) -> Recipe:
    """Find what is measured."""
    if isinstance(target, BenchReport):
        return _again(target, overrides)
    if target is not None:
        return load_recipe(target, overrides)
    try:
        folder = newest_run(RUNS)
    except CheckpointError:
        report(Progress("bench", note=f"there is no run in {RUNS}: measuring {NAME}, a small model that is built in"))
        tree = {"name": NAME, "data": {"vocabulary": VOCABULARY}, "model": dict(QUICKSTART)}
        return make_recipe(tree, overrides, Path(NAME))
    report(Progress("bench", note=f"measuring the newest run, {folder}"))
    return load_recipe(folder, overrides)


def _again(before: BenchReport, overrides: Sequence[str]) -> Recipe:
    """Take the model and the settings of an earlier benchmark; the first ones kept no recipe."""
    settings = before.settings
    tree = {"name": before.recipe, "bench": settings["bench"], **settings.get("recipe", {}), "model": settings["model"]}
    tree["data"] = {"phrases": tree.get("data", {}).get("phrases", 0), "vocabulary": settings["vocabulary"]}
    return make_recipe(tree, overrides, Path(before.recipe))


def _peers(recipe: Recipe, conditions: Conditions, report: Report) -> dict[str, Contender]:
    """Let the peers in that are installed, or some of them.

    Raises:
        RecipeError: If there are none, or one that is asked for is not among them.
    """
    from sumpool.bench.peers.build import build_peers, require_peers

    for sentence in require_peers():
        report(Progress("bench", note=sentence))
    tokens = max(recipe.bench.generate, recipe.bench.target)
    peers = build_peers(recipe.model, max(recipe.bench.lengths), conditions, tokens)
    unknown = [name for name in recipe.bench.peers if name not in peers]
    if unknown:
        raise RecipeError(f"bench.peers must name some of {', '.join(peers)}, got {', '.join(unknown)}")
    return {name: peers[name] for name in recipe.bench.peers or peers}


def _vocabulary(recipe: Recipe) -> int:
    """Find out how many pieces the model of a recipe knows."""
    if recipe.data.vocabulary is None:
        assert recipe.data.tokenizer, "one of the two is set"
        return load_tokenizer(recipe.data.tokenizer).vocab_size
    return recipe.data.vocabulary
