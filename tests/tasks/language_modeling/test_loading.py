import random
from pathlib import Path

import numpy as np
import pytest

from sumpool.errors import CheckpointError, RecipeError
from sumpool.tasks.language_modeling.config import LanguageModelRecipe
from sumpool.tasks.language_modeling.evaluate import (
    LoadedLanguageModel,
    load_language_model,
    score_text,
    segments_of,
    split_of,
    windows_of,
)
from sumpool.workflows.train import train


def recipe(folder: Path, boundaries: dict[str, object] | None) -> LanguageModelRecipe:
    kind = boundaries["kind"] if boundaries else "none"
    learns = kind in ("gumbel", "entropy")
    return LanguageModelRecipe.model_validate(
        {
            "name": kind,
            "task": "language_modeling",
            "data": {
                "source": {"kind": "plain", "path": folder / "text.txt"},
                "vocabulary_size": 300,
                "prepared": folder / "prepared",
            },
            "model": {
                "dim": 16,
                "heads": 2,
                "feed_forward": 32,
                "layers": [1, 1, 1] if boundaries else [3],
                "boundaries": [boundaries] if boundaries else [],
                "length": 32,
            },
            "train": {
                "steps": 30,
                "batch_tokens": 256,
                "learning_rate": 0.02,
                "device": "cpu",
                "loss_weights": {"boundaries": 1} if learns else {},
            },
            "evaluate": {"window": 32, "step": 8},
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    draw = random.Random(1)
    (folder / "text.txt").write_text(" ".join(draw.choice(["the", "öld", "fox", "sleeps"]) for _ in range(2000)))
    return folder


def loaded(folder: Path, boundaries: dict[str, object] | None) -> LoadedLanguageModel:
    of_run = recipe(folder, boundaries)
    run = folder / of_run.name
    if not run.exists():
        train(of_run, run)
    return load_language_model(run)


@pytest.mark.slow
def test_gumbel_boundaries_are_sampled_where_asked(folder: Path) -> None:
    run = loaded(folder, {"kind": "gumbel"}).folder
    scored = []
    for decision in ("hard", "sample", "sample"):
        model = load_language_model(run, [f"model.boundaries[0].inference={decision}"])
        text = split_of(model, "test")
        windows = windows_of(model.recipe.evaluate, 200)
        scored.append(list(score_text(model.model, text, windows, batch_tokens=512, device=model.device)))
    assert scored[1] == scored[2]
    assert sum(window.boundaries for window in scored[0]) != sum(window.boundaries for window in scored[1])


def test_the_text_is_that_of_the_split(folder: Path) -> None:
    model = loaded(folder, None)
    text = split_of(model, "test")
    decoded = b"".join(model.token_bytes[token] for token in text).decode()
    assert (folder / "text.txt").read_text().endswith(decoded)


@pytest.mark.slow
def test_segments_are_those_that_the_model_decides(folder: Path) -> None:
    model = loaded(folder, {"kind": "whitespace"})
    ids = np.array(model.tokenizer.encode_batch(["the öld fox sle"])[0])
    assert segments_of(model, ids) == ("the ", "öld ", "fox ", "sle")
    assert segments_of(model, ids[:0]) == ()
    assert segments_of(loaded(folder, {"kind": "fixed", "size": 3}), ids) == ("the", " öl", "d f", "ox ", "sle")


def test_other_folders_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"must be a run folder with recipe\.yaml"):
        load_language_model(tmp_path)
    with pytest.raises(RecipeError, match=r"evaluate\.step must be"):
        load_language_model(loaded(folder, None).folder, ["evaluate.step=0"])


def test_the_newest_language_model_is_taken(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError, match="must hold a trained language model, got none; train a recipe"):
        load_language_model()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "letters").symlink_to(loaded(folder, None).folder)
    assert load_language_model().folder == Path("runs/letters")
