from pathlib import Path

import pytest

from sumpool.errors import RecipeError
from sumpool.recipe.load import load_recipe

UNIGRAM = "model.encoder[1].pool={kind: segments, boundaries: {kind: unigram}}"
ENTROPY = "model.encoder[1].pool={kind: segments, boundaries: {kind: entropy}}"
APPROXIMATE = "model.decoder.cross_attention={kind: sentence, selection: {kind: approximate}}"


def test_prepared_data_has_a_default_folder(tiny_recipe: Path) -> None:
    assert load_recipe(tiny_recipe).prepared_folder == Path("prepared/tiny")
    assert load_recipe(tiny_recipe, ["data.prepared=elsewhere"]).prepared_folder == Path("elsewhere")


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
        (
            ["train.loss_weights={x: 1}"],
            "train.loss_weights must name losses of the model (it has none), got x",
        ),
        (
            [ENTROPY, "train.loss_weights={boundaries: 1, language_model: 1, length: 1}"],
            "train.loss_weights must name losses of the model (boundaries, language_model), got length",
        ),
        (
            [APPROXIMATE],
            "train.loss_weights must name selection, by which model.decoder.cross_attention.selection learns, got "
            "nothing; 0.1 is a good start, and 0 leaves the loss out",
        ),
        (
            ["summarize.begin_with=[3, 300]"],
            "summarize.begin_with must hold ids below data.vocabulary = 300, got 300",
        ),
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
