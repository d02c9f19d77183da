"""Runs that begin with the weights of another one."""

import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.report import DataReport
from sumpool.errors import CheckpointError, Interrupted, RecipeError
from sumpool.progress import Progress
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.text.sentencepiece_tokenizer import SentencePieceTokenizer
from sumpool.text.tokenizer import Tokenizer, load_tokenizer
from sumpool.training.initial_weights import (
    init_weights,
    mean_weights,
    share_queries,
    split_tokens,
    transfer_vocabulary,
)
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


BIRDS = ["The owl hoots at night in the wood.", "The crows caw, and the wood is full of owls."] * 20
GATES = ["The gateway forwards packets at night.", "The gateways forward the packets of the hosts."] * 20


class Tokens(Tokenizer):
    """Vocabulary of given bytes behind the five special tokens."""

    def __init__(self, *tokens: bytes) -> None:
        self._tokens = [b"", b"", b"", b"", b"\n", *tokens]

    @property
    def vocab_size(self) -> int:
        return len(self._tokens)

    def token_bytes(self) -> list[bytes]:
        return self._tokens

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        raise NotImplementedError

    def split_sentences(self, text: str, splitter: object) -> list[str]:
        raise NotImplementedError

    def _decode(self, ids: list[int]) -> str:
        raise NotImplementedError

    def word_starts(self) -> list[bool]:
        raise NotImplementedError


def test_tokens_are_split_by_longest_match() -> None:
    old = Tokens(b" gate", b" gat", b"way", b"e", b"s")
    new = Tokens(b" gateway", b" gate", b"xways", b"z")
    assert split_tokens(old, new) == [[0], [1], [2], [3], [4], [5, 7], [5], [7, 9], []]


def test_rows_are_means_of_the_old_rows() -> None:
    old, new = Tokens(b"a", b"b"), Tokens(b"ab", b"b", b"z")
    rows = torch.randn(old.vocab_size, 3, dtype=torch.float64)
    bias, other = torch.randn(old.vocab_size), torch.randn(old.vocab_size, 2)
    saved = {"embedding.weight": rows, "output.bias": bias, "layer.weight": other, "scale": torch.tensor(1.0)}
    expected = {
        "embedding.weight": torch.empty(new.vocab_size, 3),
        "output.bias": torch.empty(new.vocab_size),
        "layer.weight": torch.empty_like(other),
        "scale": torch.tensor(2.0),
    }
    moved = transfer_vocabulary(saved, expected, old, new)
    want = torch.stack([*rows[:5], (rows[5] + rows[6]) / 2, rows[6], rows.mean(0)])
    assert torch.allclose(moved["embedding.weight"], want, rtol=0, atol=1e-15)
    assert moved["output.bias"].shape == (new.vocab_size,)
    assert moved["output.bias"].dtype == torch.float32
    assert moved["output.bias"][6] == bias[6]
    assert moved["layer.weight"] is other
    assert moved["scale"] is saved["scale"]


def test_other_layers_of_the_size_of_the_vocabulary_are_kept() -> None:
    old, new = Tokens(b"a", b"b"), Tokens(b"b", b"a")
    saved = {"embedding.weight": torch.randn(7, 3), "layers.0.linear.weight": torch.randn(7, 3)}
    moved = transfer_vocabulary(saved, saved, old, new)
    assert torch.equal(moved["embedding.weight"], saved["embedding.weight"][[0, 1, 2, 3, 4, 6, 5]])
    assert moved["layers.0.linear.weight"] is saved["layers.0.linear.weight"]


@pytest.mark.parametrize("text", ["the owl", "gateways"])
def test_subtokens_have_the_bytes_of_the_token(tmp_path: Path, text: str) -> None:
    old = SentencePieceTokenizer.train(BIRDS, tmp_path / "old", 300)
    new = SentencePieceTokenizer.train(GATES, tmp_path / "new", 300)
    subtokens, known = split_tokens(old, new), old.token_bytes()
    assert [subtokens[token] for token in range(5)] == [[token] for token in range(5)]
    for token, content in enumerate(new.token_bytes()):
        if content:
            assert b"".join(known[subtoken] for subtoken in subtokens[token]) == content
    assert all(subtokens[token] for token in new.encode(text))


def test_shared_queries_and_keys_begin_with_queries() -> None:
    query, key, value = torch.randn(3, 4, 4).unbind()
    name = "encoder.layers.0.attention.project.weight"
    saved = {name: torch.cat([query, key, value]), "other": query}
    shared = share_queries({name: torch.zeros(8, 4), "other": query}, saved)
    assert torch.equal(shared[name], torch.cat([query, value]))
    assert shared["other"] is query
    assert share_queries({name: torch.zeros(12, 4)}, saved) == saved
