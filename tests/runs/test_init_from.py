"""Runs that begin with the weights of another one."""

import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.report import DataReport
from sumpool.errors import CheckpointError, Interrupted, RecipeError
from sumpool.progress import Progress
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.runs.init_from import init_weights
from sumpool.text.load import load_tokenizer
from sumpool.training.vocabulary_transfer import split_tokens
from sumpool.training.weights import load_weights, read_weights, weights_of
from sumpool.workflows.train import train
from tests.conftest import BARE, train_with_notes


@pytest.fixture
def recipe_with(recipe_with: Callable[..., Recipe], trained: Path) -> Callable[..., Recipe]:
    """The recipe of a run that begins with the finished one, and with other settings."""
    settings = (f"train.init_from={trained / 'run'}", "name=next", "train.steps=3", *BARE)
    return lambda *overrides: recipe_with(*settings, *overrides)


def weights_in(run: Path) -> dict[str, torch.Tensor]:
    vocabulary = DataReport.load(run).vocabulary
    return weights_of(load_weights(run, lambda: SummarizationModel(load_recipe(run).model, vocabulary)))


def test_a_run_begins_where_the_other_ended(trained: Path, tmp_path: Path, recipe_with: Callable[..., Recipe]) -> None:
    still = ("train.steps=1", "train.learning_rate=1e-30", "train.weight_decay=0")
    notes = train_with_notes(recipe_with(*still, "model.decoder.predict_length=true"), tmp_path / "run")
    before, after = weights_in(trained / "run"), weights_in(tmp_path / "run")
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
    fresh = sorted(after.keys() - before.keys())
    assert fresh
    begun = f"began with the weights of {trained / 'run'}"
    assert f"{begun}; fresh: {', '.join(fresh)}; left out: none" in notes
    assert f"trained from the weights of {trained / 'run'} with" in (tmp_path / "run/README.md").read_text()
    notes = train_with_notes(recipe_with(*still, "model.output={kind: tied}"), tmp_path / "tied")
    assert any(note.startswith(f"{begun}; fresh: none; left out: output.gate.bias, ") for note in notes)


@pytest.mark.slow
def test_a_run_begins_with_the_mean_of_others(
    trained: Path, tmp_path: Path, recipe_with: Callable[..., Recipe]
) -> None:
    others = [trained / "run", *(tmp_path / name for name in "ab")]
    for seed, other in enumerate(others[1:], 2):
        train(recipe_with("train.init_from=null", f"seed={seed}"), other)
    runs = ", ".join(map(str, others))
    notes = train_with_notes(recipe_with("train.steps=0", f"train.init_from=[{runs}]"), tmp_path / "run")
    begun = f"the mean of the weights of {others[0]}, {others[1]} and {others[2]}"
    assert f"began with {begun}; fresh: none; left out: none" in notes
    assert f"trained from {begun} with" in (tmp_path / "run/README.md").read_text()
    found, given = weights_in(tmp_path / "run"), [weights_in(other) for other in others]
    for name, tensor in found.items():
        mean = torch.stack([other[name] for other in given]).mean(0)
        torch.testing.assert_close(tensor, mean, rtol=1e-6, atol=1e-8)
    larger = recipe_with("train.init_from=null", "model.feed_forward=32")
    train(larger, tmp_path / "other")
    with pytest.raises(CheckpointError, match=r"other/model\.safetensors: .* must be .* in .*run/model"):
        train(recipe_with(f"train.init_from=[{trained / 'run'}, {tmp_path / 'other'}]"), tmp_path / "next")


def test_what_a_run_begins_with_may_stay_its_best(
    trained: Path, tmp_path: Path, recipe_with: Callable[..., Recipe]
) -> None:
    notes = train_with_notes(recipe_with("train.learning_rate=100", "train.clip=0"), tmp_path / "run")
    validations = [note.partition(":")[0] for note in notes if "validation loss" in note]
    assert validations == ["step 0", "step 2", "step 3"]
    before, after = weights_in(trained / "run"), weights_in(tmp_path / "run")
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())


@pytest.mark.slow
def test_a_run_that_goes_on_does_not_load_again(
    trained: Path, tmp_path: Path, recipe_with: Callable[..., Recipe]
) -> None:
    other = Path(shutil.copytree(trained / "run", tmp_path / "other"))
    recipe = recipe_with(f"train.init_from={other}", "train.checkpoint_every=1")

    def stop(progress: Progress) -> None:
        if progress.task == "train" and progress.done == 2:
            raise Interrupted(signal.SIGINT)

    train_with_notes(recipe, tmp_path / "whole")
    with pytest.raises(Interrupted):
        train(recipe, tmp_path / "run", report=stop)
    shutil.rmtree(other)
    notes = train_with_notes(recipe, tmp_path / "run")
    assert "resuming from step 2" in notes
    assert not any(note.startswith("began with") for note in notes)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "run")]
    assert weights[0] == weights[1]


def test_no_run_is_refused_before_a_folder_is_made(tmp_path: Path, recipe_with: Callable[..., Recipe]) -> None:
    with pytest.raises(RecipeError, match=r"train\.init_from must be a run folder with model\.safetensors, got .*none"):
        train(recipe_with(f"train.init_from={tmp_path}/none"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_another_vocabulary_is_initialised_with_means(
    trained: Path, tmp_path: Path, recipe_with: Callable[..., Recipe]
) -> None:
    other = recipe_with("data.vocabulary=310", f"data.prepared={tmp_path}/other", "train.steps=0")
    notes = train_with_notes(other, tmp_path / "run")
    subtokens = split_tokens(load_tokenizer(trained / "run"), load_tokenizer(tmp_path / "run"))
    before, after = (read_weights(run)["embedding.weight"] for run in (trained / "run", tmp_path / "run"))
    expected = f"the {len(after)} tokens of {tmp_path}/other are initialised as means of its {len(before)}; "
    assert any(expected in note for note in notes)
    assert all(torch.allclose(row, before[ids].mean(0)) for row, ids in zip(after, subtokens, strict=True))


def test_another_shape_is_refused(tmp_path: Path, recipe_with: Callable[..., Recipe]) -> None:
    with pytest.raises(CheckpointError, match=r"model\.safetensors: .* must be \(16, 32\) float32 in this model, got"):
        train(recipe_with("model.feed_forward=32"), tmp_path / "run")


def test_damaged_weights_are_refused(trained: Path, tmp_path: Path, recipe_with: Callable[..., Recipe]) -> None:
    other = Path(shutil.copytree(trained / "run", tmp_path / "other"))
    damaged = bytearray((other / "model.safetensors").read_bytes())
    damaged[-1] ^= 1
    (other / "model.safetensors").write_bytes(damaged)
    with pytest.raises(CheckpointError, match=r"model\.safetensors must hold .* bytes with SHA-256"):
        train(recipe_with(f"train.init_from={other}"), tmp_path / "run")


def test_many_names_are_counted(trained: Path) -> None:
    heard: list[Progress] = []
    init_weights(torch.nn.Linear(2, 2), trained / "run", trained / "prepared", heard.append)
    assert "; fresh: bias, weight; left out: " in heard[0].note
    assert heard[0].note.endswith(f" and {len(weights_in(trained / 'run')) - 8} more")
