"""What a run folder says about its summaries: manifest, recipe and settings, each read once.

Neither torch nor the schema of whole recipes is imported, so that summaries without the neural model take about as long
as starting Python.
"""

import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sumpool.core.decoding.config import DecodingConfig
from sumpool.errors import CheckpointError, RecipeError
from sumpool.inference.model_choice import ADVICE, RECIPE, require_task
from sumpool.io.bounded import parse_object
from sumpool.io.manifest import MODEL, SHIPPED, Manifest, run_name
from sumpool.ranking.ranker import FILE as RANKER
from sumpool.ranking.sentence_selector import SentenceSelector
from sumpool.recipe.yaml_text import parse
from sumpool.text.language import ENGLISH

if TYPE_CHECKING:
    from sumpool.recipe.schema import Recipe

REPORT: Final = "report.json"
FEW_UPDATES = 100
"""Updates of random weights below which a model has learnt little."""
_SECTION, _MODE = "summarize.", "summarize.mode"


@dataclass(frozen=True)
class RunFiles:
    """Files of a run folder that are read before a document.

    Attributes:
        folder: The run folder.
        overrides: Settings of the caller, each like `summarize.length=100w`.
        manifest: Its manifest.
        tree: Its recipe, parsed but not validated.
        config: Settings of the summaries.
        report: Content of the report on its training data; None where there is none, as in imported models.
        recipe: The whole recipe; None where only the settings of the summaries have been needed.
    """

    folder: Path
    overrides: Sequence[str]
    manifest: Manifest
    tree: Mapping[str, Any]
    config: DecodingConfig
    report: bytes | None = None
    recipe: "Recipe | None" = None

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
        tree: Any = None
        recipe = None
        try:
            tree = parse(content.decode("utf-8-sig"))
            config = _settings(tree, overrides)
        except (ValueError, TypeError, AttributeError):
            # The whole schema says what is wrong, or other sections are changed.
            recipe = _whole_recipe(folder, tree, overrides)
            config = recipe.summarize
        selects = "fast summaries" if config.fast else "a focus" if config.focus else ""
        if selects and config.mode == "abstractive" and any(item.startswith(_MODE) for item in overrides):
            raise RecipeError(f"summarize.mode must be extractive for {selects}, got 'abstractive'")
        if not config.fast and not (folder / MODEL).is_file():
            raise CheckpointError(f"{folder} must hold {MODEL}, but its training has saved no model yet; let it go on")
        has_report = REPORT in manifest.files or os.path.lexists(folder / REPORT)
        report = manifest.read_file(folder, REPORT) if has_report else None
        return cls(folder, overrides, manifest, tree, config, report, recipe)

    def training_note(self) -> str:
        """Return a warning if training from random weights has ended before the model could learn; empty otherwise."""
        updates = self.manifest.facts.get("step", FEW_UPDATES)
        if updates >= FEW_UPDATES or self.whole_recipe().train.init_from:
            return ""
        return (
            f"warning: the model is barely trained ({updates:,} updates); train it for longer, or take --model shipped"
        )

    def whole_recipe(self) -> "Recipe":
        """Return the recipe with the settings of the caller.

        Raises:
            CheckpointError: If it is not one of this version.
        """
        return self.recipe or _whole_recipe(self.folder, self.tree, self.overrides)

    @cached_property
    def selector(self) -> SentenceSelector:
        """The selector of sentences, by the ranker of the folder if it has one.

        Raises:
            CheckpointError: If a ranker is missing, damaged or not listed.
            DataError: If the scorer is damaged, or another model.
        """
        self.manifest.verify_present(self.folder, (RANKER,))
        return SentenceSelector.load(self.folder, SHIPPED, self.config.scorer)

    def language(self) -> str:
        """Return the language in the data report; English without a report, as for imported models.

        Raises:
            CheckpointError: If the report is damaged.
        """
        if self.report is None:
            return ENGLISH
        language = parse_object(self.report, self.folder / REPORT, CheckpointError, "train again").get("language")
        return language if isinstance(language, str) else ENGLISH


def _settings(tree: Mapping[str, Any], overrides: Sequence[str]) -> DecodingConfig:
    """Validate the section `summarize` of a recipe, changed by the overrides.

    Raises:
        ValueError: If a setting is wrong, or one of another section.
    """
    section = dict(tree.get("summarize") or {})
    for assignment in overrides:
        name, _, value = assignment.partition("=")
        if not name.strip().startswith(_SECTION):
            raise ValueError(assignment)
        section[name.strip().removeprefix(_SECTION)] = parse(value)
    return DecodingConfig.model_validate(section)


def _whole_recipe(folder: Path, tree: object, overrides: Sequence[str]) -> "Recipe":
    """Validate the recipe of a run folder, read again if it could not be parsed."""
    # Imported here, as the whole schema needs torch.
    from sumpool.recipe.load import load_recipe, make_recipe

    try:
        if not isinstance(tree, dict):
            return load_recipe(folder, overrides)
        return make_recipe(deepcopy(tree), overrides, Path(run_name(folder)) / RECIPE)
    except RecipeError:
        require_own_recipe(folder)
        raise


def require_own_recipe(folder: Path) -> None:
    """Raise a CheckpointError if the recipe of a run folder is wrong without any override."""
    from sumpool.recipe.load import load_any_recipe  # as the schema needs torch

    try:
        load_any_recipe(folder)
    except RecipeError as error:
        problems = " ".join(str(error).split())
        raise CheckpointError(
            f"{folder} must hold a recipe of this version of sumpool, got {problems}; if a newer version wrote it, "
            "update sumpool"
        ) from error
