"""Setup of language models: the released sizes, and tokens that end words."""

from pathlib import Path

import pytest
import torch

from sumpool.progress import no_op
from sumpool.recipe.load import load_any_recipe
from sumpool.runs.training_setup import set_up_training
from sumpool.tasks.language_modeling.config import LanguageModelRecipe
from sumpool.tasks.language_modeling.model import LanguageModel
from sumpool.tasks.language_modeling.stream import WindowSampler
from sumpool.tasks.language_modeling.task import TASK
from sumpool.text.tokenizer import load_tokenizer
from sumpool.text.units import UnitTokenizer

PAPER = Path("recipes/papers/language_models").absolute()
NAMES = sorted(path.stem for path in PAPER.glob("*.yaml"))
MODELS = [name for name in NAMES if "-" not in name]
"""Recipes of text8; names of others end with their language."""


def recipe(name: str, *overrides: str) -> LanguageModelRecipe:
    loaded = load_any_recipe(PAPER / f"{name}.yaml", overrides)
    assert isinstance(loaded, LanguageModelRecipe)
    return loaded


def test_models_have_the_published_number_of_parameters() -> None:
    """41 million, and one more where boundaries are predicted."""
    for name in MODELS:
        with torch.device("meta"):
            model = LanguageModel(recipe(name).model, 27)
        millions = sum(parameter.numel() for parameter in model.parameters()) / 1e6
        assert millions == pytest.approx(42 if name in ("entropy", "gumbel", "unigram") else 41, abs=0.1)


def test_every_boundary_has_a_recipe() -> None:
    assert set(MODELS) == {"vanilla", "none", "random", "fixed", "whitespace", "unigram", "entropy", "gumbel"}


def test_other_texts_have_the_settings_of_text8() -> None:
    """Those of the model and the training; subwords and letters are those of the language."""
    text8 = recipe("unigram")
    others = {name: recipe(name) for name in NAMES if name not in MODELS}
    for other in others.values():
        assert (other.model, other.train, other.evaluate) == (text8.model, text8.train, text8.evaluate)
        assert other.data.clean
        assert other.data.clean.lines
    assert {name: other.data.subwords for name, other in others.items()} == {
        "cc100-en": 10_000, "wiki40b-en": 10_000, "wiki40b-fi": 200, "wiki40b-he": 200, "wiki40b-vi": 10_000
    }  # fmt: skip


def test_white_space_ends_words(tmp_path: Path) -> None:
    tokenizer = UnitTokenizer.train(["a b\nc"], tmp_path, "characters", 300)
    model = TASK.build_model(recipe("whitespace", "model.dim=8", "model.heads=2"), tmp_path, tokenizer)
    ids = torch.tensor([tokenizer.encode("ab c\nb")])
    assert model.boundaries_of(ids, torch.ones_like(ids, dtype=torch.bool)).tolist() == [
        [False, False, True, False, True, False]
    ]


def test_batches_are_windows_of_the_training_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text8").write_text("abcdefgh " * 100)
    setup = set_up_training(recipe("fixed", "model.length=30", "model.dim=8"), no_op, no_op)
    plan = setup.data.plan(70)
    assert isinstance(plan, WindowSampler)
    batch = setup.data.batch(setup.data.training, plan.longest())
    assert batch.ids.shape == (2, 30)
    assert batch.target is not None
    text = load_tokenizer(setup.prepared).decode(batch.ids[0].tolist())
    assert text in "abcdefgh " * 5
    assert len(setup.data.validation) == -(-(45 - 1) // 30)
