"""Settings that depend on the task of a recipe."""

from pathlib import Path

import pytest

from sumpool.errors import RecipeError
from sumpool.recipe.load import dump_recipe, load_recipe
from tests.conftest import TINY_RECIPE

LABELLED = "data.source={kind: labelled, path: rows.jsonl}"
TASK = "task=classification"


def test_recipes_of_summaries_name_no_task(tiny_recipe: Path) -> None:
    recipe = load_recipe(tiny_recipe)
    assert recipe.task == "summarization"
    assert dump_recipe(recipe) == dump_recipe(load_recipe(tiny_recipe, ["task=summarization"]))
    assert not {"task", "units", "classifier"} & set(dump_recipe(recipe).replace(":", " ").split())


def test_a_classifier_survives_dumping(tiny_recipe: Path, tmp_path: Path) -> None:
    recipe = load_recipe(tiny_recipe, [TASK, LABELLED, "data.units=bytes", "train.select_by=accuracy"])
    (tmp_path / "again.yaml").write_text(dump_recipe(recipe))
    assert load_recipe(tmp_path / "again.yaml") == recipe
    assert "task: classification" in dump_recipe(recipe)


def test_contradictions_are_named(tmp_path: Path) -> None:
    for changes, problem in [
        ([TASK], "data.source.kind must be 'labelled', got 'jsonl'"),
        ([LABELLED], "data.source.kind must be one of arxiv, csv"),
        (["data.units=bytes"], "data.units is not a setting of data"),
        (["model.classifier={}"], "model.classifier is not a setting of model"),
        (
            ["train.select_by=accuracy"],
            "train.select_by must be loss or rouge1 or rouge2 or rougeLsum for task: summarization, got accuracy",
        ),
        ([TASK, LABELLED, "model.classifier={towers: 2}"], "model.classifier.towers must be 1, the documents of a row"),
        ([TASK, LABELLED, "data.source.second=b"], "model.classifier.towers must be 2, the documents of a row, got 1"),
        ([TASK, LABELLED, "train.rotate=0.5"], "train.rotate must be left out of task: classification, got 0.5"),
        ([TASK, LABELLED, "data.shuffled={}"], "data.shuffled must be left out of task: classification"),
        (
            [TASK, LABELLED, "train.select_by=rouge1"],
            "train.select_by must be loss or accuracy for task: classification, got rouge1",
        ),
        (
            ["task=translation"],
            "task must be one of classification, language_modeling, summarization, got 'translation'",
        ),
    ]:
        (tmp_path / "tiny.yaml").write_text(TINY_RECIPE)
        with pytest.raises(RecipeError) as caught:
            load_recipe(tmp_path / "tiny.yaml", changes)
        assert problem in str(caught.value)
