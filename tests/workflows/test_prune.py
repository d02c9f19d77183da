import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from sumpool.data.batches import TrainingData
from sumpool.documents.document import Document
from sumpool.errors import CheckpointError, DataError, Interrupted, RecipeError
from sumpool.inference.loading import load_model
from sumpool.io.manifest import Manifest
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.tasks.classification.classify import evaluate_classifier
from sumpool.tasks.summarization.evaluate import evaluate_systems
from sumpool.workflows.prune import HeadPruning, _validation_data, head_gates, prune_heads
from sumpool.workflows.summarize import summarize
from sumpool.workflows.train import train
from tests.conftest import exit_code, prepare
from tests.tasks.classification.test_classify import write_recipe

pytestmark = pytest.mark.slow

MODEL = (
    "model.heads=4",
    "model.encoder=[{attention: {kind: blockwise, block: 16}, pool: {kind: halving, keep: 16}}, "
    "{attention: {kind: vanilla, positions: relative}}]",
    "model.decoder.layers=2",
    "train.steps=20",
    "train.validate_every=10",
    "train.rouge_documents=0",
)


@pytest.fixture(scope="module")
def workshop(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the finished run of a model with 24 heads."""
    folder = tmp_path_factory.mktemp("pruning")
    train(load_recipe(trained / "toy.yaml", MODEL), folder / "run")
    return folder


@pytest.fixture(scope="module")
def pruned(workshop: Path) -> HeadPruning:
    return prune_heads(workshop / "run", 0.3, documents=5)


def log_probs(folder: Path, masked: dict[str, list[int]]) -> torch.Tensor:
    """Log-probabilities of validation references in float64 with the outputs of some heads at 0."""
    loaded = load_model(folder)
    model = loaded.model.double()
    data: TrainingData = _validation_data(loaded, lambda: None)
    batch = data.batch(data.validation, range(len(data.validation)))
    assert batch.target is not None
    with torch.no_grad(), head_gates(model) as gates:
        for name, heads in masked.items():
            gates[name][heads] = 0.0
        log_prob: torch.Tensor = model(batch.ids, batch.mask, batch.sentences, batch.target)[0].log_prob
    return log_prob


def test_the_folder_holds_the_model_with_these_heads_masked(workshop: Path, pruned: HeadPruning) -> None:
    masked = {entry.attention: list(entry.masked) for entry in pruned.attentions}
    assert sum(map(len, masked.values())) == round(0.3 * 24)
    expected = log_probs(workshop / "run", masked)
    torch.testing.assert_close(log_probs(workshop / "run-pruned", {}), expected, atol=1e-10, rtol=0)
    assert (expected - log_probs(workshop / "run", {})).abs().max() > 1e-6
    card = (workshop / "run-pruned" / "README.md").read_text()
    for entry in pruned.attentions:
        assert (f"- {entry.attention}: {', '.join(map(str, entry.masked))}\n" in card) == bool(entry.masked)


def test_the_least_important_heads_went(pruned: HeadPruning) -> None:
    values = [
        (value, head in entry.masked)
        for entry in pruned.attentions
        for head, value in zip(entry.heads, entry.importance, strict=True)
    ]
    assert max(value for value, went in values if went) <= min(value for value, went in values if not went)
    assert all(sum(value**2 for value in entry.importance) == pytest.approx(1) for entry in pruned.attentions)
    assert pruned.after is not None
    assert (pruned.before.heads, pruned.after.heads) == (24, 17)
    assert pruned.before.loss != pruned.after.loss


def test_the_folder_works_as_a_run_folder(
    workshop: Path, pruned: HeadPruning, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = workshop / "run-pruned"
    assert pruned.folder == str(folder)
    [summary] = summarize([Document("a", "Zinc oxide. Nails and tin. More of it.")], folder)
    assert summary.text
    report = evaluate_systems([folder], "validation", limit=2, overrides=["evaluate.resamples=100"])
    assert report.rows
    for command in (["show", str(folder)], ["prune", str(folder), "--documents", "2"]):
        assert exit_code(*command) == 0
    assert "17" in capsys.readouterr().out
    assert Manifest.read(folder).facts["validation_loss"] == pruned.after.loss if pruned.after else False


def test_a_pruned_model_can_be_pruned_again(workshop: Path, pruned: HeadPruning, tmp_path: Path) -> None:
    again = prune_heads(workshop / "run-pruned", 0.3, tmp_path / "again", documents=5)
    assert again.after is not None
    assert (again.before.heads, again.after.heads) == (17, 12)
    masked = {
        entry.attention: [*before.masked, *entry.masked]
        for before, entry in zip(pruned.attentions, again.attentions, strict=True)
    }
    expected = log_probs(workshop / "run", masked)
    torch.testing.assert_close(log_probs(tmp_path / "again", {}), expected, atol=1e-10, rtol=0)


def test_importance_alone_writes_nothing(workshop: Path) -> None:
    before = sorted(workshop.iterdir())
    result = prune_heads(workshop / "run", documents=2)
    assert (result.folder, result.after, result.documents) == (None, None, 2)
    assert sorted(workshop.iterdir()) == before


@pytest.mark.parametrize(
    ("share", "message"),
    [
        (0.0, "--heads: the share of heads must mask 1 to 18 of 24 heads, as every attention keeps one, got 0"),
        (0.9, "mask 1 to 18 of 24 heads, as every attention keeps one, got 0.9, which are 22"),
    ],
)
def test_shares_that_cannot_be_masked(workshop: Path, share: float, message: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=re.escape(message)):
        prune_heads(workshop / "run", share, tmp_path / "out", documents=1)
    assert not (tmp_path / "out").exists()


def test_changes_of_the_model_are_refused(workshop: Path) -> None:
    with pytest.raises(RecipeError, match="--set must leave the model of a run as it is"):
        prune_heads(workshop / "run", overrides=["model.dropout=0"])


def test_a_run_that_has_not_ended_is_refused(workshop: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(workshop / "run", tmp_path / "run"))
    (run / "README.md").unlink()
    with pytest.raises(CheckpointError, match="its training has not ended; let it go on"):
        prune_heads(run, 0.3)


def test_another_vocabulary_is_refused(workshop: Path, tmp_path: Path, recipe_with: Callable[..., Recipe]) -> None:
    prepare(recipe_with("data.vocabulary=300", f"data.prepared={tmp_path / 'prepared'}"))
    with pytest.raises(DataError, match=r"prepared must have the vocabulary of .*run, got another one"):
        prune_heads(workshop / "run", overrides=[f"data.prepared={tmp_path / 'prepared'}"])


def test_a_signal_leaves_nothing(workshop: Path, tmp_path: Path) -> None:
    calls, out = 0, tmp_path / "new" / "out"

    def check() -> None:
        nonlocal calls
        calls += 1
        if out.parent.exists() and calls > 1:  # while the folder is written, or before
            raise Interrupted(15)

    with pytest.raises(Interrupted, match="stopped by SIGTERM; nothing was pruned"):
        prune_heads(workshop / "run", 0.3, out, documents=2, check=check)
    assert not [path for path in (tmp_path / "new").rglob("*") if path.name != "new"]


def test_the_command_prints_tables_and_json(workshop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("prune", str(workshop / "run"), "--heads", "0.25", "--documents", "3", "--out")
    assert exit_code(*command, str(tmp_path / "a")) == 0
    out, err = capsys.readouterr()
    assert "encoder 0 attention" in out
    assert "decoder 1 cross_attention" in out
    assert out.count("*") == 6 + 1
    assert "before" in out
    assert str(tmp_path / "a") in out
    assert "sumpool summarize" in err
    assert exit_code(*command, str(tmp_path / "b"), "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["after"]["heads"] == 18
    assert len(result["attentions"]) == 6
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("a", "b")]
    assert weights[0] == weights[1]


def test_classifiers_are_pruned_too(tmp_path: Path) -> None:
    recipe = load_recipe(write_recipe(tmp_path, pairs=True), [f"data.prepared={tmp_path / 'prepared'}"])
    run = train(recipe, tmp_path / "run")
    result = prune_heads(run, 0.25, documents=5)
    assert result.after is not None
    assert (result.before.heads, result.after.heads) == (4, 3)
    assert evaluate_classifier(Path(str(result.folder))).documents == evaluate_classifier(run).documents


def test_trained_gates_stand_beside_the_importance(workshop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = prune_heads(workshop / "run", 0.3, workshop / "gated", documents=5, gates=20, penalty=0.05)
    assert result.by_gates is not None
    assert result.after is not None
    assert (result.by_gates.heads, result.after.heads) == (17, 17)
    values = [value for entry in result.attentions for value in entry.open_gates]
    assert len(values) == 24
    assert all(0 < value < 1 for value in values)
    assert len(set(values)) > 1
    assert exit_code("prune", str(workshop / "run"), "--documents", "2", "--gates", "2") == 0
    assert "probability of open gates" in capsys.readouterr().out
