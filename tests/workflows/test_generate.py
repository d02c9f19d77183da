from pathlib import Path

import pytest

from sumpool.progress import Progress
from sumpool.workflows.generate import generate
from sumpool.workflows.train_language_model import train_language_model
from tests.inference.test_language_models import folder, recipe

pytestmark = pytest.mark.slow

__all__ = ["folder"]
SETTINGS = ["generate.length=40"]


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    return train_language_model(recipe(folder, {"kind": "whitespace"}), folder / "generating")


def test_texts_have_seeds_and_lengths(run: Path) -> None:
    texts = [(text.seed, "".join(text.parts)) for text in generate(run, "the ", 2, overrides=SETTINGS)]
    assert [seed for seed, _ in texts] == [1, 2]
    assert all(len(text) == 40 for _, text in texts)
    assert texts[0][1] != texts[1][1]
    (second,) = generate(run, "the ", overrides=[*SETTINGS, "generate.seed=2"])
    assert "".join(second.parts) == texts[1][1]


def test_a_trained_model_writes_words_of_its_text(run: Path) -> None:
    (text,) = generate(run, "the ", overrides=["generate.length=200", "generate.temperature=0.5"])
    assert {"the", "fox"} & set("".join(text.parts).split())


def test_text_comes_token_by_token(run: Path) -> None:
    checks: list[int] = []
    (text,) = generate(run, "the ", overrides=SETTINGS, check=lambda: checks.append(1))
    before = len(checks)
    assert len(next(text.parts)) == 1
    assert len(checks) - before <= 4 + 1


def test_notes_name_the_model_and_unknown_characters(run: Path) -> None:
    reports: list[Progress] = []
    list(generate(run, "QQ", report=reports.append))
    assert [report.note for report in reports] == [
        f"model: {run}",
        "2 characters of the prompt are not in the vocabulary",
    ]
