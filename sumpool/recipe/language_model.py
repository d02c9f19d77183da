"""Recipes of language models, a schema of its own; `task: language_modeling` chooses it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from sumpool.core.decoding.text_sampling import TextSampling
from sumpool.core.model.language_model_config import LanguageModelConfig
from sumpool.data.text_config import TextDataConfig
from sumpool.evaluation.language_model_config import TextEvaluationConfig
from sumpool.recipe.load import LANGUAGE_MODELING, make_recipe, read_tree, validate_tree
from sumpool.recipe.schema import Recipe
from sumpool.settings import Settings
from sumpool.training.config import TrainConfig


class LanguageModelRecipe(Settings):
    """Complete configuration of a language model's run: `task: language_modeling`."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    """Name of the run; also the default name of its folders."""
    task: Literal["language_modeling"]
    """What the model learns: the next character, byte or subword of running text."""
    seed: int = Field(1, ge=0, lt=2**31)
    """Seed of all random numbers: initial weights, data order, dropout."""
    data: TextDataConfig
    """Source of the running text, and its preparation."""
    model: LanguageModelConfig = LanguageModelConfig()
    """Architecture of the model."""
    train: TrainConfig = TrainConfig()
    """Training, as for summaries; a document is a window of `model.length` tokens here, and `train.rotate` the share of
    epochs that begin at a random token of the text, 1 in the released code of Nawrot et al. (2023)."""
    evaluate: TextEvaluationConfig = TextEvaluationConfig()
    """Evaluation: bits per character, shortening factor, segments."""
    generate: TextSampling = TextSampling()
    """Generation of text."""
    bench: dict[str, Any] | None = None
    """Settings of `sumpool bench`, which validates them."""

    @property
    def prepared_folder(self) -> Path:
        """Folder for new prepared data: `data.prepared`, by default `prepared/<name>`; equal data may be elsewhere."""
        return self.data.prepared or Path("prepared") / self.name

    @model_validator(mode="after")
    def _boundaries_can_be_trained(self) -> Self:
        if self.model.requires_phrases and not self.data.subwords:
            raise ValueError(
                "data.subwords must be the number of subwords that teach model.boundaries, got 0; the paper has 10000 "
                "for English, 200 for Finnish"
            )
        if self.data.vocabulary == "subwords" and any(level.kind == "whitespace" for level in self.model.boundaries):
            raise ValueError(
                "data.vocabulary must be characters or bytes for whitespace boundaries, got subwords; a subword does "
                "not tell whether its word ends"
            )
        losses = self.model.boundary_losses
        unknown = sorted(self.train.loss_weights.keys() - set(losses))
        if unknown:
            raise ValueError(
                f"train.loss_weights must name losses of the model ({', '.join(losses) or 'it has none'}), got "
                f"{', '.join(unknown)}"
            )
        unweighted = [name for name in losses if name not in self.train.loss_weights]
        if unweighted:
            raise ValueError(
                f"train.loss_weights must name {' and '.join(unweighted)}, by which model.boundaries learn, got "
                f"{', '.join(self.train.loss_weights) or 'nothing'}; 1 is usual, and 0 leaves a loss out"
            )
        return self

    @model_validator(mode="after")
    def _training_suits_text(self) -> Self:
        if self.train.teacher:
            raise ValueError(f"train.teacher must be null for task: language_modeling, got {self.train.teacher}")
        if self.train.select_by != "loss":
            raise ValueError(f"train.select_by must be loss for task: language_modeling, got {self.train.select_by}")
        return self


AnyRecipe = Recipe | LanguageModelRecipe


def load_any_recipe(path: Path, overrides: Sequence[str] = ()) -> AnyRecipe:
    """Load a recipe of any task.

    Args:
        path: A YAML file, or a run folder with `recipe.yaml`.
        overrides: Settings to change, such as `train.steps=100`.

    Raises:
        RecipeError: If the file cannot be read or any setting is invalid; lists all problems.
    """
    path = path / "recipe.yaml" if path.is_dir() else path
    return make_any_recipe(read_tree(path), overrides, path)


def make_any_recipe(tree: dict[str, Any], overrides: Sequence[str], path: Path) -> AnyRecipe:
    """Validate a tree of settings as a recipe of its task; the overrides change the tree in place.

    Raises:
        RecipeError: If any setting is invalid; lists all problems.
    """
    if tree.get("task") == LANGUAGE_MODELING:
        return validate_tree(LanguageModelRecipe, tree, overrides, path)
    return make_recipe(tree, overrides, path)
