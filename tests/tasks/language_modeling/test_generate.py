from pathlib import Path

import pytest

from sumpool.tasks.language_modeling.generation import generate
from sumpool.workflows.train import train
from tests.tasks.language_modeling.test_loading import folder, recipe

pytestmark = pytest.mark.slow

__all__ = ["folder"]
SETTINGS = ["generate.length=40"]


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    return train(recipe(folder, {"kind": "whitespace"}), folder / "generating")


def test_a_trained_model_writes_words_of_its_text(run: Path) -> None:
    (text,) = generate(run, "the ", overrides=["generate.length=200", "generate.temperature=0.5"])
    assert {"the", "fox"} & set("".join(text.parts).split())


def test_text_comes_token_by_token(run: Path) -> None:
    checks: list[int] = []
    (text,) = generate(run, "the ", overrides=SETTINGS, check=lambda: checks.append(1))
    before = len(checks)
    assert len(next(text.parts)) == 1
    assert len(checks) - before <= 4 + 1
