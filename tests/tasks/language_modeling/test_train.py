"""Training of language models: every boundary, resuming bit by bit, initial weights, and the commands around it."""

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from sumpool.errors import Interrupted
from sumpool.io.manifest import MODEL
from sumpool.progress import Progress
from sumpool.recipe.files import write
from sumpool.recipe.load import load_any_recipe
from sumpool.runs.run_summary import describe_run
from sumpool.tasks.language_modeling.config import LanguageModelRecipe
from sumpool.text.tokenizer import load_tokenizer
from sumpool.training.weights import read_weights
from sumpool.workflows.train import dry_run, train
from tests.tasks.language_modeling.test_model import SOURCES

pytestmark = pytest.mark.slow

WORDS = ["the", "cat", "sees", "a", "dog", "under", "that", "river", "and", "walks", "home", "again"]
TAUGHT = ("unigram", "entropy", "gumbel")


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., LanguageModelRecipe]:
    """Recipes of tiny models over a text of 2,000 words."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(2)
    Path("text.txt").write_text(" ".join(draw.choices(WORDS, k=2000)))

    def recipe(boundaries: str = "whitespace", *overrides: str) -> LanguageModelRecipe:
        levels = {"layers": [3] if boundaries == "plain" else [1, 1, 1], "boundaries": SOURCES[boundaries]}
        weights = {"loss_weights": {"boundaries": 1}} if boundaries in TAUGHT else {}
        tree: dict[str, Any] = {
            "name": "tiny",
            "task": "language_modeling",
            "data": {"source": {"kind": "plain", "path": "text.txt"}, "subwords": 60 if boundaries == "unigram" else 0},
            "model": {"dim": 16, "heads": 2, "feed_forward": 32, "length": 32, **levels},
            "train": {"steps": 4, "batch_tokens": 128, "rotate": 0.5, "validate_every": 2, "checkpoint_every": 1},
        }
        tree["train"] |= {**weights, "device": "cpu", "validate_documents": 4, "learning_rate": 0.01}
        Path("recipe.yaml").write_text(write(tree))
        loaded = load_any_recipe(Path("recipe.yaml"), overrides)
        assert isinstance(loaded, LanguageModelRecipe)
        return loaded

    return recipe


Make = Callable[..., LanguageModelRecipe]


@pytest.mark.parametrize("boundaries", ["plain", "random", *TAUGHT])
def test_models_with_and_without_taught_boundaries_are_trained(boundaries: str, make: Make) -> None:
    run = train(make(boundaries))
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    losses = [record["nats"] for record in records if record["kind"] == "validation"]
    assert len(losses) == 2
    assert max(losses) < 3.6
    assert losses[-1] < losses[0] + 0.01
    if boundaries in TAUGHT:
        assert all("boundaries" in record for record in records if record["kind"] == "step")
    assert (run / MODEL).is_file()
    assert "characters" in (run / "README.md").read_text()


@pytest.mark.parametrize("boundaries", ["gumbel", "unigram"])
def test_a_stopped_run_resumes_bit_by_bit(boundaries: str, make: Make) -> None:
    recipe = make(boundaries, "train.steps=6", "train.rotate=1")
    whole = train(recipe, Path("runs/whole"))
    for stop in (2, 5):
        with pytest.raises(Interrupted, match="stopped"):
            train(recipe, Path("runs/stopped"), check=partial(_stop_after, stop))
    stopped = train(recipe, Path("runs/stopped"))
    weights, resumed = read_weights(whole), read_weights(stopped)
    assert weights.keys() == resumed.keys()
    assert all(torch.equal(weights[name], resumed[name]) for name in weights)
    steps = [json.loads(line) for line in (stopped / "metrics.jsonl").read_text().splitlines()]
    assert [record["step"] for record in steps if record["kind"] == "step"] == [1, 2, 3, 4, 5, 6]


def _stop_after(step: int) -> None:
    """Stop the run once a checkpoint of the step is there."""
    saved = [path.name.split("-")[-1].split(".")[0] for path in Path("runs/stopped/checkpoints").glob("*")]
    if any(int(number) >= step for number in saved):
        raise Interrupted(15, "stopped")


def test_weights_of_another_run_begin_a_training(make: Make) -> None:
    first = train(make("fixed"), Path("runs/first"))
    notes: list[Progress] = []
    second = make("gumbel", f"train.init_from={first}", "train.steps=0")
    run = train(second, Path("runs/second"), report=notes.append)
    begun, weights = read_weights(first), read_weights(run)
    shared = begun.keys() & weights.keys()
    assert "embedding.weight" in shared
    assert all(torch.equal(begun[name], weights[name]) for name in shared)
    (note,) = [progress.note for progress in notes if progress.note and "began with" in progress.note]
    assert "fresh: layers." in note
    Path("other.txt").write_text("xyz " * 500)
    other = make("gumbel", f"train.init_from={first}", "data.source.path=other.txt", "train.steps=0")
    third = train(other, Path("runs/third"), report=notes.append)
    assert any("has another vocabulary" in (progress.note or "") for progress in notes)
    tokens, known = ([*map(bytes, load_tokenizer(folder).token_bytes())] for folder in (third, first))
    shared_token = next(token for token in tokens if token in known and token)
    rows = [read_weights(run)["embedding.weight"] for run in (third, first)]
    assert torch.equal(rows[0][tokens.index(shared_token)], rows[1][known.index(shared_token)])


def test_runs_are_described_and_updates_measured(make: Make) -> None:
    measured = dry_run(make())
    assert (measured.documents, measured.source_tokens) == (4, 32)
    assert measured.parameters > 1000
    assert not Path("runs").exists()
    details = describe_run(train(make("fixed")))
    assert details.recipe["task"] == "language_modeling"
    assert details.recipe["model.boundaries"] == "fixed"
    assert details.data["tokens"].startswith("train ")
    assert len(details.validations) == 2
