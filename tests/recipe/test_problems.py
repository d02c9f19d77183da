from pathlib import Path

import pytest

from sumpool.errors import RecipeError
from sumpool.recipe.load import load_recipe


def test_problem_names_setting_rule_and_value(tiny_recipe: Path) -> None:
    for assignment, sentence in [
        ("train.steps=12:30", "train.steps must be a whole number, got '12:30'"),
        ("train.steps=2.5", "train.steps must be a whole number, got 2.5"),
        ("train.learning_rate=1e400", "train.learning_rate must be a finite number, got inf"),
        ("model.dropout=1", "model.dropout must be below 1.0, got 1"),
        ("model.norm=mid", "model.norm must be 'pre' or 'post', got 'mid'"),
        (
            "model.encoder=[]",
            "model.encoder must be a list with at least 1 entries, got []",
        ),
        ("model.encoder[0]=3", "model.encoder[0] must be a mapping, got 3"),
        ("model.encoder[0].attention=3", "model.encoder[0].attention must be a mapping, got 3"),
        ("model.encoder[0].attention={}", "model.encoder[0].attention.kind is missing; it must be one of bigbird,"),
        ("model.encoder[1].pool.scorer={kind: linaer}", "got 'linaer' (did you mean linear?)"),
        ("model.encoder[1].pool.kep=3", "model.encoder[1].pool.kep is not a setting of halving (did you mean keep?)"),
        (
            "model.encoder[1].pool.keep=0",
            "keep must be a whole number (at least 1) or a number (above 0.0), got 0",
        ),
        ("model.encoder[1].pool.keep=1.0", "keep must be a whole number or a number (below 1.0), got 1.0"),
        ("model.encoder[0].atention=3", "is not a setting of model.encoder[0] (did you mean attention?)"),
        ("model.heads=3", "model.heads must divide dim = 16, got 3"),
        ("train=3", "train must be a mapping, got 3"),
        ("train.betas=[0.9]", "train.betas[1] is missing"),
        (
            "train.loss_weights={a: x}",
            "train.loss_weights.a must be a number, got 'x'",
        ),
        (
            "summarize.min_length=long",
            "min_length must be a whole number or 'auto', got 'long'",
        ),
        ("train.steps=true", "train.steps must be a whole number, got true"),
        ("train.steps='5'", "train.steps must be a whole number, got '5'"),
        ("train.clip='1'", "train.clip must be a number, got '1'"),
        ("train.clip=true", "train.clip must be a number, got true"),
        ("model.restore=1", "model.restore must be true or false, got 1"),
        ("model.restore='yes'", "model.restore must be true or false, got 'yes'"),
        (
            "model.target_length=1",
            "model.target_length must be at least 2, got 1",
        ),
        ("train.betas=[0.9, 3]", "train.betas[1] must be below 1.0, got 3"),
        (
            f"model.source_length={10**31}",
            "model.source_length must be at most 10000000, got 1000",
        ),
        (
            f"evaluate.resamples={10**31}",
            "evaluate.resamples must be at most 100000, got 1000",
        ),
        (f"train.clip={10**400}", "train.clip must be a number, got 1000"),
        ("data.prepared=.", "data.prepared must be a folder of its own, such as prepared/news, got ."),
        ("data.prepared=../..", "data.prepared must be a folder of its own, such as prepared/news, got ../.."),
        ("data.prepared=/", "data.prepared must be a folder of its own, such as prepared/news, got /"),
        ("evaluate.stemmer=perhaps", "evaluate.stemmer must be true or false, got 'perhaps'"),
        ("data.source={}", "data.source.kind is missing; it must be one of arxiv, "),
        ("model={}", "model.encoder is missing (The encoder's layers, first to last)"),
        (
            "data.vocabulary=null",
            "data.vocabulary must be the size of the vocabulary to train, got null; the default is 8000",
        ),
        (
            "data.vocabulary=3",
            "data.vocabulary must be at least 300, got 3",
        ),
        ("data.phrases=300", "data.phrases must be 0 or more than vocabulary = 300, got 300"),
        ("steps=3", "steps is not a setting of a recipe (did you mean train.steps?)"),
        ("zzz=3", "zzz is not a setting of a recipe; its settings are name, task, seed, data, model, train,"),
        (
            "model.decoder.cross_attention={kind: sentence, sentence: 2}",
            "model.decoder.cross_attention.sentence is not a setting of sentence (did you mean sentences?)",
        ),
        ("name=3", "name must be text, got 3; put it in quotes"),
        ("name=null", "got null"),
        ("seed=[true]", "seed must be a whole number, got [True]"),
    ]:
        with pytest.raises(RecipeError) as caught:
            load_recipe(tiny_recipe, [assignment])
        message = str(caught.value)
        assert sentence in message
        assert "\n" not in message


def test_entries_with_problems_do_not_make_the_list_too_short(tiny_recipe: Path) -> None:
    with pytest.raises(RecipeError, match=r"2 problems\n.*encoder\[0\] must.*\n.*encoder\[1\] must.*$"):
        load_recipe(tiny_recipe, ["model.encoder=[1, 2]"])


def test_long_values_are_shortened(tiny_recipe: Path) -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe(tiny_recipe, [f"train.steps={'x' * 5000}"])
    assert len(str(caught.value)) < 300
