from pathlib import Path

import pytest

from sumpool.errors import RecipeError
from sumpool.recipe.load import load_recipe


def test_problem_names_setting_rule_and_value(tiny_recipe: Path) -> None:
    for assignment, sentence in [
        ("train.steps=12:30", "train.steps must be a whole number, got '12:30'"),
        ("train.steps=true", "train.steps must be a whole number, got true"),
        (f"train.steps={'x' * 5000}", "got 'xxx"),
        ("seed=[true]", "seed must be a whole number, got [True]"),
        ("name=3", "name must be text, got 3; put it in quotes"),
        ("name=null", "got null"),
        (f"train.clip={10**400}", "train.clip must be a number, got 1000"),
        ("train=3", "train must be a mapping, got 3"),
        ("train.betas=[0.9]", "train.betas[1] is missing"),
        ("train.betas=[0.9, 3]", "train.betas[1] must be below 1.0, got 3"),
        ("train.loss_weights={a: x}", "train.loss_weights.a must be a number, got 'x'"),
        ("summarize.min_length=long", "min_length must be a whole number or 'auto', got 'long'"),
        ("model.norm=mid", "model.norm must be 'pre' or 'post', got 'mid'"),
        ("model.heads=3", "model.heads must divide dim = 16, got 3"),
        ("model={}", "model.encoder is missing (The encoder's layers, first to last)"),
        ("model.encoder=[]", "model.encoder must be a list with at least 1 entries, got []"),
        ("model.encoder[0].attention=3", "model.encoder[0].attention must be a mapping, got 3"),
        ("model.encoder[0].attention={}", "model.encoder[0].attention.kind is missing; it must be one of bigbird,"),
        ("model.encoder[0].atention=3", "is not a setting of model.encoder[0] (did you mean attention?)"),
        ("model.encoder[1].pool.scorer={kind: linaer}", "got 'linaer' (did you mean linear?)"),
        ("model.encoder[1].pool.kep=3", "model.encoder[1].pool.kep is not a setting of halving (did you mean keep?)"),
        ("model.encoder[1].pool.keep=0", "keep must be a whole number (at least 1) or a number (above 0.0), got 0"),
        ("model.encoder[1].pool.keep=1.0", "keep must be a whole number or a number (below 1.0), got 1.0"),
        ("data.prepared=.", "data.prepared must be a folder of its own, such as prepared/news, got ."),
        ("data.prepared=../..", "data.prepared must be a folder of its own, such as prepared/news, got ../.."),
        ("data.source={}", "data.source.kind is missing; it must be one of arxiv, "),
        ("data.vocabulary=null", "data.vocabulary must be the size of the vocabulary to train, got null; the default"),
        ("data.phrases=300", "data.phrases must be 0 or more than vocabulary = 300, got 300"),
        ("steps=3", "steps is not a setting of a recipe (did you mean train.steps?)"),
        ("zzz=3", "zzz is not a setting of a recipe; its settings are name, task, seed, data, model, train,"),
        (
            "model.decoder.cross_attention={kind: sentence, sentence: 2}",
            "model.decoder.cross_attention.sentence is not a setting of sentence (did you mean sentences?)",
        ),
    ]:
        with pytest.raises(RecipeError) as caught:
            load_recipe(tiny_recipe, [assignment])
        message = str(caught.value)
        assert sentence in message
        assert "\n" not in message
        assert len(message) < 700  # long values are shortened


def test_entries_with_problems_do_not_make_the_list_too_short(tiny_recipe: Path) -> None:
    with pytest.raises(RecipeError, match=r"2 problems\n.*encoder\[0\] must.*\n.*encoder\[1\] must.*$"):
        load_recipe(tiny_recipe, ["model.encoder=[1, 2]"])
