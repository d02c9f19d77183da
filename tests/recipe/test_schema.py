from pathlib import Path

import pytest
from pydantic import ValidationError

from sumpool.errors import RecipeError
from sumpool.recipe.load import dump_recipe, load_recipe
from sumpool.training.config import TrainConfig

UNIGRAM = "model.encoder[1].pool={kind: segments, boundaries: {kind: unigram}}"
ENTROPY = "model.encoder[1].pool={kind: segments, boundaries: {kind: entropy}}"
APPROXIMATE = "model.decoder.cross_attention={kind: sentence, selection: {kind: approximate}}"


def test_what_a_variant_needs_of_other_sections_is_required(tiny_recipe: Path) -> None:
    for overrides, message in [
        (
            [UNIGRAM],
            "data.phrases must be above data.vocabulary = 300, got 0; they teach model.encoder[1].pool.boundaries, and "
            "1500 are a good start",
        ),
        (
            [UNIGRAM, "data.tokenizer=run", "data.vocabulary=null"],
            "data.phrases must be above data.vocabulary, got 0; they teach model.encoder[1].pool.boundaries, and five "
            "times as many are a good start",
        ),
        (
            [ENTROPY, "train.loss_weights={length: 1}"],
            "train.loss_weights must name boundaries and language_model, by which model.encoder[1].pool.boundaries "
            "learn, got length; 1 is usual, and 0 leaves a loss out",
        ),
        (["train.loss_weights={x: 1}"], "train.loss_weights must name losses of the model (it has none), got x"),
        (
            [ENTROPY, "train.loss_weights={boundaries: 1, language_model: 1, length: 1}"],
            "train.loss_weights must name losses of the model (boundaries, language_model), got length",
        ),
        (
            [APPROXIMATE],
            "train.loss_weights must name selection, by which model.decoder.cross_attention.selection learns, got "
            "nothing; 0.1 is a good start, and 0 leaves the loss out",
        ),
        (["summarize.begin_with=[3, 300]"], "summarize.begin_with must hold ids below data.vocabulary = 300, got 300"),
        (
            ["summarize.min_length=16"],
            "summarize.min_length must be below model.target_length = 16, EOS included, got 16",
        ),
        (
            ["summarize.min_length=9", "summarize.max_length=8"],
            "summarize.min_length must be at most max_length = 8, got 9",
        ),
        (
            ["summarize.begin_with=[5, 5, 5]", "model.target_length=3"],
            "summarize.begin_with must be shorter than model.target_length = 3, EOS included, got 3 tokens",
        ),
    ]:
        with pytest.raises(RecipeError) as caught:
            load_recipe(tiny_recipe, overrides)
        assert str(caught.value) == f"{tiny_recipe}: {message}"


def test_a_recipe_that_meets_them_loads(tiny_recipe: Path) -> None:
    for overrides in [
        [UNIGRAM, "data.phrases=1500", "train.loss_weights={boundaries: 1}"],
        [ENTROPY, "train.loss_weights={boundaries: 1, language_model: 0}"],
        [APPROXIMATE, "train.loss_weights={selection: 0.1}"],
    ]:
        assert load_recipe(tiny_recipe, overrides).train.loss_weights


LABELLED = "data.source={kind: labelled, path: rows.jsonl}"
TASK = "task=classification"


def test_recipes_of_summaries_name_no_task(tiny_recipe: Path) -> None:
    recipe = load_recipe(tiny_recipe)
    assert (recipe.task, recipe.prepared_folder) == ("summarization", Path("prepared/tiny"))
    assert load_recipe(tiny_recipe, ["data.prepared=elsewhere"]).prepared_folder == Path("elsewhere")
    assert dump_recipe(recipe) == dump_recipe(load_recipe(tiny_recipe, ["task=summarization"]))
    assert not {"task", "units", "classifier"} & set(dump_recipe(recipe).replace(":", " ").split())


def test_a_classifier_survives_dumping(tiny_recipe: Path, tmp_path: Path) -> None:
    recipe = load_recipe(tiny_recipe, [TASK, LABELLED, "data.units=bytes", "train.select_by=accuracy"])
    (tmp_path / "again.yaml").write_text(dump_recipe(recipe))
    assert load_recipe(tmp_path / "again.yaml") == recipe
    assert "task: classification" in dump_recipe(recipe)


def test_contradictions_are_named(tiny_recipe: Path) -> None:
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
        ([TASK, LABELLED, "data.shuffled={}"], "data.shuffled must be left out of task: classification"),
        (
            [TASK, LABELLED, "train.select_by=rouge1"],
            "train.select_by must be loss or accuracy for task: classification, got rouge1",
        ),
        (["task=translation"], "task must be one of classification, language_modeling, summarization, got 'translati"),
    ]:
        with pytest.raises(RecipeError) as caught:
            load_recipe(tiny_recipe, changes)
        assert problem in str(caught.value)


def test_selection_by_rouge_has_more_documents_by_default() -> None:
    assert TrainConfig().rouge_documents == 20
    assert TrainConfig.model_validate({"select_by": "rouge1"}).rouge_documents == 100
    assert TrainConfig.model_validate({"select_by": "rouge1", "rouge_documents": 60}).rouge_documents == 60
    with pytest.raises(ValidationError, match="rouge_documents must be at least 1 to select by rouge2, got 0"):
        TrainConfig.model_validate({"select_by": "rouge2", "rouge_documents": 0})
