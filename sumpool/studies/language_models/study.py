"""`sumpool study language-models`: tables and figures of Nawrot et al. (2023) on any text.

<folder>/<text>/prepared/               vocabulary and ids
<folder>/<text>/<row>-seed<n>/          run folders, which every study shares and a second call continues with
<folder>/<text>/processor_seconds.json  processor time of the training of each run
<folder>/<study>.json, .csv, .tex, .png
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sumpool.bench.config import split_overrides
from sumpool.bench.results import BenchReport, Result, export_result, make_report
from sumpool.bench.workload import Conditions
from sumpool.errors import DataError, RecipeError
from sumpool.evaluation.task import Results
from sumpool.progress import Check, Progress, Report
from sumpool.recipe.load import assign, load_any_recipe, make_any_recipe, read_tree
from sumpool.recipe.packaged import find_recipe
from sumpool.runs.run_folder import RECIPE
from sumpool.runs.run_metrics import evaluation_folder
from sumpool.runs.training_setup import set_up_training
from sumpool.studies.config import LanguageModelsConfig
from sumpool.studies.language_models.grid import StudyRow, row_settings, study_grid
from sumpool.studies.language_models.plot import draw_study
from sumpool.studies.language_models.table import (
    StudyRun,
    difference_rows,
    difference_table,
    study_rows,
    study_table,
)
from sumpool.studies.study import load_study
from sumpool.studies.training_time import affordable_steps, clocked, read_times, trial_seconds, with_steps
from sumpool.tasks.language_modeling.config import LanguageModelRecipe
from sumpool.tasks.language_modeling.evaluate import evaluate_language_models, read_windows
from sumpool.tasks.language_modeling.generation import load_language_model
from sumpool.training.hardware import choose_device, choose_precision
from sumpool.workflows.train import train

_VALIDATIONS = 5
"""Validations of a run at least."""
_TITLES = {
    "boundaries": "bits per character by boundaries",
    "pareto": "bits per character and shortening factor",
    "scaling": "layers of the middle block",
}


@dataclass(frozen=True)
class _Study:
    """Settings of a study, with the recipe that its rows change."""

    config: LanguageModelsConfig
    tree: Mapping[str, Any]
    path: Path
    overrides: Sequence[str]

    def recipe(self, text: str, row: StudyRow, seed: int) -> LanguageModelRecipe:
        """Return the recipe of a run.

        Raises:
            RecipeError: If a setting is wrong, or the recipe is of another task.
        """
        tree = deepcopy(dict(self.tree))
        base = make_any_recipe(deepcopy(tree), self.overrides, self.path)
        if not isinstance(base, LanguageModelRecipe):
            raise RecipeError(f"{self.path} must be a recipe of task: language_modeling, got task: {base.task}")
        settings = row_settings(row, base.model.layers, self.config.vocabulary)
        file = next((file for file in self.config.texts if file.stem == text), None)
        if file:
            settings["data.source"] = {"kind": "plain", "path": str(file)}
        settings |= {"seed": seed, "name": f"{row.name}-seed{seed}"}
        recipe = make_any_recipe(tree, self.overrides, self.path).model_dump(mode="json")
        for name, value in settings.items():
            assign(recipe, name, value)
        recipe["data"]["prepared"] = str(self.config.folder / text / f"prepared-{settings['data.subwords']}")
        made = make_any_recipe(recipe, (), self.path)
        assert isinstance(made, LanguageModelRecipe), "the task is that of the base"
        return made


def study_language_models(overrides: Sequence[str], report: Report, check: Check) -> BenchReport:
    """Train and evaluate a language model for each row, text and seed of a study, and write its table and picture.

    Args:
        overrides: Settings of the benchmark, like `study.table=pareto`, and of the recipe.
        report: Called with progress.
        check: Called between updates; when it raises, a second call continues.

    Raises:
        RecipeError: If a setting is wrong, or a folder holds something else.
        DataError: If a text is missing or damaged.
        NonFiniteError: If a loss or a gradient is not finite.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal has come.
    """
    # 1. Check the recipes of all rows, before any is trained.
    study, grid, names = _load(overrides)
    config = study.config
    first, *_ = [study.recipe(text, row, config.seeds[0]) for text in names for row in grid]
    # 2. Train and evaluate each row with each seed on each text.
    runs: list[StudyRun] = []
    total = len(names) * len(grid) * len(config.seeds)
    for text in names:
        for row in grid:
            steps = _steps(study, text, row, report, check) if config.minutes else None
            for seed in config.seeds:
                report(Progress("study", len(runs), total, note=f"{text}: {row.name}, seed {seed}"))
                runs.append(_run(study, text, row, seed, steps, report, check))
    report(Progress("study", total, total))
    # 3. Write tables and picture.
    rows, differences = study_rows(runs), difference_rows(runs)
    tables = [study_table(_TITLES[config.table], rows, differences, _notes(config, first))]
    if differences:
        tables.append(difference_table(differences))
    result = Result({"rows": rows, "differences": differences}, tables)
    settings = {"study": config.model_dump(mode="json"), "recipe": first.model_dump(mode="json")}
    export_result(config.folder / config.table, {"settings": settings}, result.rows, result.tables)
    if find_spec("matplotlib"):
        draw_study(config.table, rows, config.folder / f"{config.table}.png")
    device = choose_device(first.train.device)
    conditions = Conditions(300, device, choose_precision(first.train.precision, device), config.seeds[0])
    return make_report(config.table, "language-models", conditions, settings, result)


def _load(overrides: Sequence[str]) -> tuple[_Study, list[StudyRow], list[str]]:
    """Load settings, rows and the names of the texts.

    Raises:
        RecipeError: If a setting is wrong.
    """
    of_study, of_recipe = split_overrides(overrides, ("study.",))
    config = load_study("language-models", LanguageModelsConfig, of_study).study
    path = find_recipe(config.recipe)
    tree = read_tree(path)
    names = [file.stem for file in config.texts] or [str(tree.get("name", "text"))]
    if len(set(names)) < len(names):
        raise RecipeError(f"study.texts must have different names, got {', '.join(names)}")
    return _Study(config, tree, path, of_recipe), study_grid(config), names


def _run(
    study: _Study, text: str, row: StudyRow, seed: int, steps: int | None, report: Report, check: Check
) -> StudyRun:
    """Train a run, or go on with it, and evaluate it on the test text, unless that is done."""
    recipe = study.recipe(text, row, seed)
    if steps:
        recipe = recipe.model_copy(update={"train": with_steps(recipe.train, steps, _VALIDATIONS)})
    run = study.config.folder / text / recipe.name
    with clocked(run):
        train(recipe, run, report=report, check=check)
    try:
        evaluation = evaluate_language_models([run], results=Results(resume=True), report=report, check=check)
    except DataError:  # of other settings
        evaluation = evaluate_language_models([run], report=report, check=check)
    (scores,) = evaluation.reports.values()
    parameters = sum(part.numel() for part in load_language_model(run).model.parameters())
    return StudyRun(
        row=row.name,
        line=row.line,
        family=row.family,
        text=text,
        seed=seed,
        bpc=scores.bpc,
        shortening_factor=scores.shortening_factor.mean if scores.shortening_factor else 1.0,
        layers=sum(recipe.model.layers),
        parameters=parameters,
        steps=recipe.train.steps,
        seconds=read_times(run.parent).get(run.name, 0.0),
        windows=read_windows(evaluation_folder(run, "test")),
    )


def _steps(study: _Study, text: str, row: StudyRow, report: Report, check: Check) -> int:
    """Return the updates of a row that take the budget's processor time; those of a run that has begun."""
    config = study.config
    recipe = study.recipe(text, row, config.seeds[0])
    for seed in config.seeds:
        begun = config.folder / text / f"{row.name}-seed{seed}"
        if (begun / RECIPE).is_file():
            return load_any_recipe(begun).train.steps
    setup = set_up_training(recipe, report, check)
    device = choose_device(recipe.train.device)
    seconds = trial_seconds(setup.model, setup.data, recipe.train, device, config.trial, check)
    assert config.minutes is not None, "there is a budget"
    steps = affordable_steps(config.minutes, seconds)
    report(Progress("study", note=f"{text}: {row.name}: {seconds:.3f} processor s per update, {steps:,} updates"))
    return steps


def _notes(config: LanguageModelsConfig, recipe: LanguageModelRecipe) -> list[str]:
    budget = (
        f"{config.minutes:g} minutes of processor time for the training of each run"
        if config.minutes
        else f"{recipe.train.steps:,} updates of each run"
    )
    return [
        f"{budget}, seeds {', '.join(map(str, config.seeds))}; windows of {recipe.evaluate.window:,} tokens moved by "
        f"{recipe.evaluate.step:,}; {recipe.model.dim} features; processor s: that of training and validation"
    ]
