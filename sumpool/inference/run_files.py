"""Choice of a run folder, and what it says about its summaries: manifest, recipe and settings, each read once.

Neither torch nor the schema of whole recipes is imported, so that summaries without the neural model take about as long
as starting Python.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sumpool.core.decoding.config import DecodingConfig
from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.bounded import parse_object, read_json, read_regular
from sumpool.io.manifest import ADVICE, MODEL, RECIPE, REPORT, RUNS, SHIPPED, Manifest, run_folder, run_name
from sumpool.ranking.ranker import FILE as RANKER
from sumpool.ranking.sentence_selector import SentenceSelector
from sumpool.recipe.files import parse
from sumpool.text.language import ENGLISH

if TYPE_CHECKING:
    from sumpool.recipe.schema import BaseRecipe, Recipe


USED = ".used"
"""File in the folder of run folders with the path of the run that summarises by default, relative to it."""

_DEFAULT = "summarization"
"""Task of a recipe that names none."""
FEW_UPDATES = 100
"""Updates of random weights below which a model has learnt little."""


def choose_model(run: Path | None = None) -> Path:
    """Return the folder of the model that summarises.

    Args:
        run: A run folder, or `shipped`; None takes the run that `sumpool use` has marked, else the shipped model.

    Raises:
        CheckpointError: If the marked run is gone.
    """
    if run is not None:
        return run_folder(run)
    try:
        marked = RUNS / read_regular(RUNS / USED).decode(errors="replace").strip()
    except OSError:
        return SHIPPED
    if not (marked / MODEL).is_file():
        raise CheckpointError(
            f"{RUNS / USED} must name a run folder with {MODEL}, got {marked}; run `sumpool use shipped`, or name a "
            "run with --model"
        )
    return Path(os.path.normpath(marked))


def use_model(run: Path) -> None:
    """Mark the run that summarises by default; the shipped model removes the mark.

    Raises:
        CheckpointError: If the folder is not a run with a model of summaries.
    """
    folder = run_folder(run)
    if folder == SHIPPED:
        (RUNS / USED).unlink(missing_ok=True)
        return
    if not (folder / MODEL).is_file() or not (folder / RECIPE).is_file():
        raise CheckpointError(f"{run} must be a run folder with {RECIPE} and {MODEL}, got none; {ADVICE}")
    require_task(folder, read_regular(folder / RECIPE), _DEFAULT)
    with disk_errors(RUNS):
        RUNS.mkdir(parents=True, exist_ok=True)
        replace_file(RUNS / USED, f"{os.path.relpath(folder, RUNS)}\n".encode())


def describe_choice(run: Path | None = None) -> str:
    """Return the name of the model that summarises, and why it is taken where none is named."""
    name = run_name(choose_model(run))
    if run is not None:
        return name
    if (RUNS / USED).exists():
        return f"{name} (marked by `sumpool use`)"
    models = models_of(_DEFAULT)
    return f"{name} (take {models[0]} by --model or `sumpool use`)" if models else f"{name} (no run in {RUNS})"


def newest_run(task: str = _DEFAULT) -> Path:
    """Return the run folder of a task whose model was saved last.

    Raises:
        CheckpointError: If there is none.
    """
    models = models_of(task)
    if models:
        return models[0]
    from sumpool.recipe.task import find_task  # as nothing but errors needs it

    kind, advice = find_task(task).kind, find_task(task).advice
    raise CheckpointError(f"{RUNS.absolute()} must hold a trained {kind}, got none; {advice}")


def models_of(task: str = "") -> list[Path]:
    """Return the run folders with a model of a task, or of any one, that whose model was saved last first."""
    tasks = {path: task_of(path.parent) for path in RUNS.glob(f"*/{MODEL}")}
    models = [path for path, other in tasks.items() if (other == task if task else other)]
    models.sort(key=lambda path: (path.stat().st_mtime_ns, path), reverse=True)
    return [path.parent for path in models]


def task_of(run: Path) -> str:
    """Return the task of a run by its recipe, which is not validated; empty without a recipe."""
    try:
        return _task_in(read_regular(run / RECIPE))
    except OSError:
        return ""


def trained_field(run: Path) -> str | None:
    """Return the field of the documents that the model of a run was trained on; None if it is not known."""
    try:  # without the schema of reports, which takes longer to import than a document to summarise
        fields = read_json(run / REPORT, DataError, "train again").get("fields")
    except DataError:
        return None
    field = fields.get("document") if isinstance(fields, dict) else None
    return field if isinstance(field, str) else None


def require_task(run: Path, recipe: bytes, task: str) -> None:
    """Check the task of a run.

    Args:
        run: The run folder.
        recipe: Its recipe, which is not validated.
        task: The task.

    Raises:
        CheckpointError: If it is another one.
    """
    other = _task_in(recipe)
    if other != task:
        from sumpool.recipe.task import command_of  # as nothing but errors needs it

        raise CheckpointError(
            f"{run_name(run)} must be a run of task: {task}, got task: {other}, for sumpool {command_of(other)} and "
            "evaluate only"
        )


def _task_in(recipe: bytes) -> str:
    named = (line.removeprefix(b"task:").strip() for line in recipe.splitlines() if line.startswith(b"task:"))
    return next(named, _DEFAULT.encode()).decode(errors="replace")


@dataclass(frozen=True)
class RunFiles:
    """Files of a run folder that are read before a document.

    Attributes:
        folder: The run folder.
        overrides: Settings of the caller, each like `summarize.length=100w`.
        manifest: Its manifest.
        content: Content of its recipe.
        config: Settings of the summaries.
        report: Content of the report on its training data; None where there is none, as in imported models.
    """

    folder: Path
    overrides: Sequence[str]
    manifest: Manifest
    content: bytes
    config: DecodingConfig
    report: bytes | None = None

    @classmethod
    def open(cls, folder: Path, overrides: Sequence[str] = ()) -> "RunFiles":
        """Read the manifest and the recipe of a run folder.

        Args:
            folder: The run folder.
            overrides: Settings to change.

        Raises:
            CheckpointError: If the folder has no model of summaries, or is damaged.
            RecipeError: If a setting is wrong.
        """
        path = folder / RECIPE
        if not path.is_file():
            raise CheckpointError(f"{folder} must be a run folder with recipe.yaml and {MODEL}, got neither; {ADVICE}")
        manifest = Manifest.read(folder)
        content = manifest.read_file(folder, RECIPE)
        require_task(folder, content, "summarization")
        try:
            tree: Any = parse(content.decode("utf-8-sig"))
            section = dict(tree.get("summarize") or {})
            for name, _, value in (assignment.partition("=") for assignment in overrides):
                if not name.strip().startswith("summarize."):
                    raise ValueError(name)
                section[name.strip().removeprefix("summarize.")] = parse(value)
            config = DecodingConfig.model_validate(section)
        except (ValueError, TypeError, AttributeError):
            # The whole schema says what is wrong, or other sections are changed.
            config = cast("Recipe", run_recipe(folder, content, overrides)).summarize
        selects = "fast summaries" if config.fast else "a focus" if config.focus else ""
        if selects and config.mode == "abstractive" and any(item.startswith("summarize.mode") for item in overrides):
            raise RecipeError(f"summarize.mode must be extractive for {selects}, got 'abstractive'")
        if not config.fast and not (folder / MODEL).is_file():
            raise CheckpointError(f"{folder} must hold {MODEL}, but its training has saved no model yet; let it go on")
        has_report = REPORT in manifest.files or os.path.lexists(folder / REPORT)
        report = manifest.read_file(folder, REPORT) if has_report else None
        return cls(folder, overrides, manifest, content, config, report)

    def training_note(self) -> str:
        """Return a warning if training from random weights has ended before the model could learn; empty otherwise."""
        updates = self.manifest.facts.get("step", FEW_UPDATES)
        if updates >= FEW_UPDATES or self.recipe.train.init_from:
            return ""
        return (
            f"warning: the model is barely trained ({updates:,} updates); train it for longer, or take --model shipped"
        )

    @cached_property
    def recipe(self) -> "Recipe":
        """The whole recipe with the settings of the caller.

        Raises:
            CheckpointError: If it is not one of this version.
        """
        return cast("Recipe", run_recipe(self.folder, self.content, self.overrides))  # which its task has

    @cached_property
    def selector(self) -> SentenceSelector:
        """The selector of sentences, by the ranker of the folder if it has one.

        Raises:
            CheckpointError: If a ranker is missing, damaged or not listed.
        """
        self.manifest.verify_present(self.folder, (RANKER,))
        return SentenceSelector.load(self.folder, SHIPPED)

    def language(self) -> str:
        """Return the language in the data report; English without a report, as for imported models.

        Raises:
            CheckpointError: If the report is damaged.
        """
        if self.report is None:
            return ENGLISH
        language = parse_object(self.report, self.folder / REPORT, CheckpointError, "train again").get("language")
        return language if isinstance(language, str) else ENGLISH


def run_recipe(folder: Path, content: bytes, overrides: Sequence[str] = ()) -> "BaseRecipe":
    """Return the recipe of a run folder with overrides.

    Args:
        folder: The run folder.
        content: Content of its recipe.
        overrides: Settings to change.

    Raises:
        CheckpointError: If the recipe is wrong without any override.
        RecipeError: If an override is wrong.
    """
    # Imported here, as the whole schema needs torch.
    from sumpool.recipe.load import make_recipe

    try:
        tree: Any = parse(content.decode("utf-8-sig"))
        return make_recipe(dict(tree), overrides, Path(run_name(folder)) / RECIPE)
    except (RecipeError, ValueError, TypeError) as error:
        if overrides:
            run_recipe(folder, content)
            raise
        problems = " ".join(str(error).split())
        raise CheckpointError(
            f"{folder / RECIPE} must be a recipe of this version of sumpool, got {problems}; if a newer version wrote "
            "it, update sumpool"
        ) from error
