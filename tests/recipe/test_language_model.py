"""Recipes of language models: choice by task, problems, overrides, and dumping."""

from pathlib import Path
from typing import Any

import pytest

from sumpool.errors import RecipeError
from sumpool.recipe.files import write
from sumpool.recipe.load import dump_recipe, load_any_recipe, load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.tasks.language_modeling.config import LanguageModelRecipe

pytestmark = pytest.mark.slow

TREE: dict[str, Any] = {
    "name": "tiny",
    "task": "language_modeling",
    "data": {"source": {"kind": "plain", "path": "text.txt"}},
    "model": {"dim": 8, "heads": 2, "feed_forward": 16, "layers": [1], "length": 16},
}


def recipe_file(tmp_path: Path, **changes: Any) -> Path:  # noqa: ANN401 - any YAML
    path = tmp_path / "recipe.yaml"
    path.write_text(write({**TREE, **changes}))
    return path


def test_the_task_chooses_the_schema(tmp_path: Path) -> None:
    path = recipe_file(tmp_path)
    recipe = load_any_recipe(tmp_path, ["train.steps=7", "model.layers=[1, 1, 1]", "model.boundaries=[{kind: fixed}]"])
    assert isinstance(recipe, LanguageModelRecipe)
    assert recipe.train.steps == 7
    assert recipe.prepared_folder == Path("prepared/tiny")
    path.write_text(dump_recipe(recipe))
    assert load_any_recipe(path) == recipe
    assert isinstance(load_any_recipe(Path("recipes/quickstart.yaml")), Recipe)


def test_commands_for_summaries_refuse_it(tmp_path: Path) -> None:
    with pytest.raises(
        RecipeError, match="task must be summarization, or another one that reads documents, for this command, got"
    ):
        load_recipe(recipe_file(tmp_path))


def test_sections_must_fit(tmp_path: Path) -> None:
    for override, message in [
        ("model={layers: [1, 1, 1], boundaries: [{kind: unigram}]}", "data.subwords must be the number of subwords"),
        (
            "model={layers: [1, 1, 1], boundaries: [{kind: gumbel}]}",
            "train.loss_weights must name boundaries, by which",
        ),
        ("train={teacher: runs/x, distillation: word}", "train.teacher must be null for task: language_modeling"),
        ("train.select_by=rouge1", "train.select_by must be loss for task: language_modeling, got rouge1"),
    ]:
        with pytest.raises(RecipeError, match=message):
            load_any_recipe(recipe_file(tmp_path), [override])
