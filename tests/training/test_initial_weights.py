"""Runs that begin with the weights of another one."""

import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from sumpool.errors import CheckpointError, Interrupted, RecipeError
from sumpool.progress import Progress
from sumpool.recipe.schema import Recipe
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS
from sumpool.text.tokenizer import Tokenizer, load_tokenizer
from sumpool.training.initial_weights import (
    init_weights,
    mean_weights,
    share_queries,
    split_tokens,
    transfer_vocabulary,
)
from sumpool.training.weights import export, read_weights
from sumpool.workflows.train import train
from tests.conftest import BARE, train_with_notes


@pytest.fixture
def recipe_with(recipe_with: Callable[..., Recipe], trained: Path) -> Callable[..., Recipe]:
    """The recipe of a run that begins with the finished one, and with other settings."""
    settings = (f"train.init_from={trained / 'run'}", "name=next", "train.steps=3", *BARE)
    return lambda *overrides: recipe_with(*settings, *overrides)


def test_a_run_begins_where_the_other_ended(trained: Path, tmp_path: Path, recipe_with: Callable[..., Recipe]) -> None:
    still = ("train.steps=1", "train.learning_rate=1e-30", "train.weight_decay=0")
    notes = train_with_notes(recipe_with(*still, "model.decoder.predict_length=true"), tmp_path / "run")
    before, after = read_weights(trained / "run"), read_weights(tmp_path / "run")
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
    fresh = sorted(after.keys() - before.keys())
    assert fresh
    begun = f"began with the weights of {trained / 'run'}"
    assert f"{begun}; fresh: {', '.join(fresh)}; left out: none" in notes
    assert f"trained from the weights of {trained / 'run'} with" in (tmp_path / "run/README.md").read_text()
    notes = train_with_notes(recipe_with(*still, "model.output={kind: tied}"), tmp_path / "tied")
    assert any(note.startswith(f"{begun}; fresh: none; left out: output.gate.bias, ") for note in notes)


def test_a_run_begins_with_the_mean_of_others(
    trained: Path, tmp_path: Path, recipe_with: Callable[..., Recipe]
) -> None:
    first, second = trained / "run", Path(shutil.copytree(trained / "run", tmp_path / "second"))
    export(second, {name: 3 * tensor for name, tensor in read_weights(first).items()}, {})
    notes = train_with_notes(recipe_with("train.steps=0", f"train.init_from=[{first}, {second}]"), tmp_path / "run")
    begun = f"the mean of the weights of {first} and {second}"
    assert f"began with {begun}; fresh: none; left out: none" in notes
    assert f"trained from {begun} with" in (tmp_path / "run/README.md").read_text()
    before, after = read_weights(first), read_weights(tmp_path / "run")
    assert all(torch.allclose(tensor, 2 * before[name]) for name, tensor in after.items())


def test_means_need_equal_weights_and_the_message_says_whose_differ() -> None:
    saved = {"a": {"w": torch.tensor([1.0, 3.0])}, "b": {"w": torch.tensor([3.0, 4.0])}}
    assert mean_weights(saved)["w"].tolist() == [2.0, 3.5]
    with pytest.raises(CheckpointError, match=r"^c: other must be absent in a, got \(2,\) float32"):
        mean_weights({**saved, "c": {"other": torch.zeros(2)}})


def test_what_a_run_begins_with_may_stay_its_best(
    trained: Path, tmp_path: Path, recipe_with: Callable[..., Recipe]
) -> None:
    notes = train_with_notes(recipe_with("train.learning_rate=100", "train.clip=0"), tmp_path / "run")
    validations = [note.partition(":")[0] for note in notes if "validation loss" in note]
    assert validations == ["step 0", "step 2", "step 3"]
    before, after = read_weights(trained / "run"), read_weights(tmp_path / "run")
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


def test_many_names_are_counted(trained: Path) -> None:
    heard: list[Progress] = []
    init_weights(torch.nn.Linear(2, 2), trained / "run", trained / "prepared", heard.append)
    assert "; fresh: bias, weight; left out: " in heard[0].note
    assert heard[0].note.endswith(f" and {len(read_weights(trained / 'run')) - 8} more")


def tokens(*contents: bytes) -> Tokenizer:
    """Vocabulary of given bytes behind the five special tokens."""
    listed = [b"", b"", b"", b"", b"\n", *contents]
    attributes = {"vocab_size": len(listed), "special_tokens": DEFAULT_SPECIAL_TOKENS}
    return Mock(spec=Tokenizer, token_bytes=Mock(return_value=listed), **attributes)


def test_tokens_are_split_by_longest_match() -> None:
    old = tokens(b" gate", b" gat", b"way", b"e", b"s")
    new = tokens(b" gateway", b" gate", b"xways", b"z")
    assert split_tokens(old, new) == [[0], [1], [2], [3], [4], [5, 7], [5], [7, 9], []]


def test_rows_are_means_of_the_old_rows() -> None:
    old, new = tokens(b"a", b"b"), tokens(b"ab", b"b", b"z")
    rows = torch.randn(old.vocab_size, 3, dtype=torch.float64)
    bias, other = torch.randn(old.vocab_size), torch.randn(old.vocab_size, 2)
    saved = {"embedding.weight": rows, "output.bias": bias, "layer.weight": other, "scale": torch.tensor(1.0)}
    expected = {name: torch.empty(new.vocab_size, *tensor.shape[1:]) for name, tensor in saved.items() if tensor.dim()}
    expected["scale"] = torch.tensor(2.0)
    moved = transfer_vocabulary(saved, expected, old, new)
    want = torch.stack([*rows[:5], (rows[5] + rows[6]) / 2, rows[6], rows.mean(0)])
    assert torch.allclose(moved["embedding.weight"], want, rtol=0, atol=1e-15)
    assert moved["output.bias"].shape == (new.vocab_size,)
    assert moved["output.bias"].dtype == torch.float32
    assert moved["output.bias"][6] == bias[6]
    assert moved["layer.weight"] is other  # a layer of the size of the vocabulary
    assert moved["scale"] is saved["scale"]


def test_shared_queries_and_keys_begin_with_queries() -> None:
    query, key, value = torch.randn(3, 4, 4).unbind()
    name = "encoder.layers.0.attention.project.weight"
    saved = {name: torch.cat([query, key, value]), "other": query}
    shared = share_queries({name: torch.zeros(8, 4), "other": query}, saved)
    assert torch.equal(shared[name], torch.cat([query, value]))
    assert shared["other"] is query
    assert share_queries({name: torch.zeros(12, 4)}, saved) == saved
