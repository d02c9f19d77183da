"""Training as a command sees it: from a recipe and a file of documents to a run folder."""

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.config import Example
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import source_sentences
from sumpool.errors import CheckpointError, DataError, Interrupted, RecipeError
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.io.manifest import Manifest
from sumpool.progress import Progress, no_op
from sumpool.ranking.features import sentence_features
from sumpool.ranking.ranker import FILE, Ranker
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.runs.run_folder import differences
from sumpool.runs.run_summary import records_of
from sumpool.tasks.summarization import training
from sumpool.text.sentences import SentenceSplitter
from sumpool.training.journal import JOURNAL
from sumpool.training.weights import load_weights
from sumpool.workflows.export_model import export_model
from sumpool.workflows.train import dry_run, train
from tests.conftest import BARE, TOY, read_lines, story, train_with_notes, write_lines, write_rows

RecipeWith = Callable[..., Recipe]
"""Type of the fixture `recipe_with`."""


def test_a_run_folder_holds_all_that_its_model_needs(trained_run: Path) -> None:
    names = {path.name for path in trained_run.iterdir()}
    assert names >= {
        *("recipe.yaml", "tokenizer.model", "report.json", "model.safetensors", "metrics.jsonl"),
        *("manifest.json", "README.md", "checkpoints"),
    }
    recipe = load_recipe(trained_run)
    vocabulary = json.loads((trained_run / "report.json").read_text())["vocabulary"]
    load_weights(trained_run, lambda: SummarizationModel(recipe.model, vocabulary))
    validations = records_of(trained_run / JOURNAL, "validation")
    assert [record["step"] for record in validations] == [2, 4]
    assert all(0 <= record["rouge1"] <= 100 for record in validations)
    card = (trained_run / "README.md").read_text()
    assert card.startswith("# toy\n")
    assert "| trained with | 4 updates" in card
    assert "nats per token after step" in card
    assert "{" not in card


@pytest.mark.parametrize("copies", ["source", pytest.param("memory", marks=pytest.mark.slow)])
def test_summaries_of_a_validation_are_generated_in_bf16(copies: str, tmp_path: Path, recipe_with: RecipeWith) -> None:
    changes = ("train.precision=bf16", "train.steps=1", f"model.output={{kind: pointer, copies: {copies}}}")
    train(recipe_with(*changes), tmp_path / "run")
    (validation,) = records_of(tmp_path / "run" / JOURNAL, "validation")
    assert 0 <= validation["rouge1"] <= 100


def test_a_finished_run_says_so_and_stays_as_it_is(trained_run: Path, recipe_with: RecipeWith) -> None:
    before = {path: path.read_bytes() for path in trained_run.rglob("*") if path.is_file() and path.name != ".lock"}
    assert f"{trained_run} is finished" in train_with_notes(recipe_with(), trained_run)
    assert all(path.read_bytes() == content for path, content in before.items())


def test_the_same_recipe_and_seed_give_the_same_weights(trained: Path, tmp_path: Path, recipe_with: RecipeWith) -> None:
    def stop(progress: Progress) -> None:
        if progress.task == "train" and progress.done == 3:
            raise Interrupted(signal.SIGINT)

    with pytest.raises(Interrupted, match="SIGINT"):
        train(recipe_with(*BARE), tmp_path / "run", report=stop)
    notes = train_with_notes(recipe_with("train.checkpoint_activations=true", *BARE), tmp_path / "run")
    assert "resuming from step 3" in notes
    weights = [(folder / "model.safetensors").read_bytes() for folder in (trained / "run", tmp_path / "run")]
    assert weights[0] == weights[1]


def test_a_changed_recipe_is_refused_by_the_names_of_its_changes(trained_run: Path, recipe_with: RecipeWith) -> None:
    changed = recipe_with("train.learning_rate=0.5", "model.encoder[0].attention.block=8", "train.steps=3", "seed=3")
    with pytest.raises(RecipeError, match="must go on with the recipe that it began with") as caught:
        train(changed, trained_run)
    for part in (
        "seed 3 instead of 1",
        "model.encoder[0].attention.block 8 instead of 16",
        "train.learning_rate 0.5 instead of 0.001",
        "train.steps 3 instead of 4",
    ):
        assert part in str(caught.value)


def test_settings_that_no_update_depends_on_may_change(trained_run: Path, recipe_with: RecipeWith) -> None:
    changed = recipe_with(
        "train.keep=5",
        "train.checkpoint_every=1",
        "train.checkpoint_activations=true",
        "train.parallel=fsdp",
        "summarize.beams=2",
    )
    train_with_notes(changed, trained_run)
    assert load_recipe(trained_run) == changed


@pytest.mark.slow
def test_a_schedule_without_an_end_may_go_on_for_more_steps(tmp_path: Path, recipe_with: RecipeWith) -> None:
    short, long = (recipe_with("train.schedule.kind=constant", f"train.steps={steps}", *BARE) for steps in (2, 4))
    train_with_notes(short, tmp_path / "extended")
    assert "resuming from step 2" in train_with_notes(long, tmp_path / "extended")
    train_with_notes(long, tmp_path / "whole")
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("extended", "whole")]
    assert weights[0] == weights[1]
    assert differences(recipe_with("train.steps=4"), recipe_with("train.steps=2"))


def test_scores_of_other_documents_cannot_select(recipe_with: RecipeWith) -> None:
    documents = [f"train.rouge_documents={number}" for number in (60, 70)]
    assert not differences(*map(recipe_with, documents))
    assert differences(*(recipe_with("train.select_by=rouge2", setting) for setting in documents)) == [
        "train.rouge_documents 70 instead of 60"
    ]


def test_other_data_is_refused(trained_run: Path, tmp_path: Path, recipe_with: RecipeWith) -> None:
    write_rows(tmp_path / "other.jsonl", seed=2)
    other = recipe_with(f"data.source.path={tmp_path}/other.jsonl", f"data.prepared={tmp_path}/other")
    with pytest.raises(DataError, match=r"must go on with the data that it began with, but .*other holds other data"):
        train(other, trained_run)


@pytest.mark.parametrize("split", ["validation", pytest.param("test", marks=pytest.mark.slow)])
def test_texts_that_are_also_in_training_are_refused(
    split: str, tmp_path: Path, recipe_with: RecipeWith, trained: Path
) -> None:
    texts = {name: (trained / "prepared" / name / "texts.jsonl").read_text().splitlines() for name in ("train", split)}
    copied, of_split = (json.loads(lines[0]) for lines in texts.values())
    rows = read_lines(trained / "rows.jsonl")
    rows = [row | {"document": copied["document"]} if row["id"] == of_split["id"] else row for row in rows]
    write_lines(tmp_path / "rows.jsonl", rows)
    recipe = recipe_with(f"data.source.path={tmp_path}/rows.jsonl", f"data.prepared={tmp_path}/prepared")
    expected = rf"prepared/{split} must hold texts that are not in training, got 1 that are: '{of_split['id']}'; remove"
    with pytest.raises(DataError, match=expected):
        train(recipe, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(DataError, match="must hold texts that are not in training"):
        dry_run(recipe)
    allowed = recipe.model_copy(update={"train": recipe.train.model_copy(update={"allow_shared_texts": True})})
    assert dry_run(allowed).documents


def test_the_same_data_in_another_place_is_the_same(
    trained: Path, trained_run: Path, tmp_path: Path, recipe_with: RecipeWith
) -> None:
    moved = recipe_with(f"data.prepared={tmp_path}/moved")
    shutil.copytree(trained / "prepared", tmp_path / "moved")
    assert any("is finished" in note for note in train_with_notes(moved, trained_run))


def test_a_recipe_of_another_name_shares_the_prepared_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe_with: RecipeWith
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("data.prepared=null", "train.steps=1", *BARE)
    train(recipe_with(*options), tmp_path / "one")
    notes = train_with_notes(recipe_with(*options, "name=other"), tmp_path / "other")
    assert "the prepared data of these documents and settings is prepared/toy" in notes
    assert [path.name for path in Path("prepared").iterdir() if path.is_dir()] == ["toy"]
    assert load_recipe(tmp_path / "other").data.prepared == Path("prepared/toy")
    report = json.loads((tmp_path / "other" / "report.json").read_text())
    assert report["fields"] == {"document": "document", "summary": "summary", "id": "id"}


@pytest.mark.slow
def test_a_folder_that_a_crash_left_half_made_is_made_again(
    trained_run: Path, tmp_path: Path, recipe_with: RecipeWith
) -> None:
    half = tmp_path / "half"
    half.mkdir()
    Manifest({}).write(half)
    (half / "recipe.yaml").write_text("name: ")
    train(recipe_with(*BARE), half)
    assert (half / "model.safetensors").read_bytes() == (trained_run / "model.safetensors").read_bytes()


def test_a_damaged_run_folder_is_named(trained_run: Path, recipe_with: RecipeWith) -> None:
    (trained_run / "tokenizer.model").write_bytes(b"damaged")
    with pytest.raises(CheckpointError, match=r"tokenizer\.model must hold"):
        train(recipe_with(), trained_run)


def test_a_dry_run_says_what_training_would_take_and_leaves_nothing(
    trained: Path, tmp_path: Path, recipe_with: RecipeWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted((trained / "prepared").rglob("*"))
    found = dry_run(recipe_with("train.accumulate=2"))
    assert sorted((trained / "prepared").rglob("*")) == before
    assert list(tmp_path.iterdir()) == []
    assert found.parameters > 1000
    assert found.documents * found.source_tokens <= 256
    assert found.target_tokens <= 16
    assert found.seconds > 0
    assert found.peak_memory is None or found.peak_memory >= 0


def test_reports_of_a_run_are_in_its_folder_and_tensorboard_is_checked_first(
    trained_run: Path, tmp_path: Path, recipe_with: RecipeWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = read_lines(trained_run / "samples.jsonl")
    assert {sample["step"] for sample in samples} == {2, 4}
    assert {path.name for path in trained_run.glob("curves.*")} == {"curves.png", "curves.svg"}
    monkeypatch.setattr("sumpool.workflows.train.find_spec", lambda _: None)
    with pytest.raises(RecipeError, match=r"tensorboard is not: pip install 'sumpool\[tensorboard\]'"):
        train(recipe_with("train.log=[tensorboard]"), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_names_of_no_weight_are_refused_before_a_folder_is_made(tmp_path: Path, recipe_with: RecipeWith) -> None:
    with pytest.raises(RecipeError, match=r"train\.trainable must match names of weights, got .*did you mean decoder"):
        train(recipe_with("train.trainable=[decodr.*]"), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert 0 < dry_run(recipe_with("train.trainable=['decoder.*']")).parameters < dry_run(recipe_with()).parameters


QUICK = ("train.steps=0", "summarize.mode=extractive", "summarize.samples=2", "select.trees=9")


@pytest.fixture(scope="module")
def ranked(recipe_with: RecipeWith, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained run with a ranker."""
    return train(recipe_with(*QUICK), tmp_path_factory.mktemp("ranked") / "run")


def test_training_ends_with_a_ranker(ranked: Path) -> None:
    manifest = Manifest.read(ranked)
    manifest.verify(ranked, manifest.files)
    assert manifest.facts["ranker_documents"] > 20
    assert Ranker.load(ranked).choice is None
    (summary,) = Pipeline.open(RunFiles.open(ranked, ["summarize.fast=true"])).summarize([Document("a", story(1, 60))])
    assert summary.text


def test_a_ranker_learns_the_language_of_its_run(
    trained_run: Path, recipe_with: RecipeWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    Manifest({}, {}).write(trained_run)  # without a ranker
    example = Example("a", "Вчера открыли новый мост. Никто не знает почему.", "Город: открыли новый мост.", "train")
    fit, report = Mock(side_effect=InterruptedError), Mock(language="ru")
    monkeypatch.setattr(training, "Texts", lambda *_: [example])
    monkeypatch.setattr(training, "DataReport", Mock(load=lambda _: report))
    monkeypatch.setattr(training, "fit_ranker", fit)
    with pytest.raises(InterruptedError):
        training.train_ranker(trained_run, recipe_with(), trained_run, report=no_op, check=no_op)
    labelled, _ = fit.call_args.args[0]  # the second begins with the summary
    assert labelled.labels.tolist() == pytest.approx([0.5 * 3 / 4 + 2 / 3, 0])
    sentences = source_sentences(Document("a", example.document), SentenceSplitter("ru"))
    np.testing.assert_array_equal(labelled.features.values, sentence_features(sentences, [0, 1], "", "ru").values)


@pytest.mark.slow
def test_a_finished_run_without_a_ranker_gets_one_and_keeps_it(
    ranked: Path, tmp_path: Path, recipe_with: RecipeWith
) -> None:
    reported: list[Progress] = []
    run = tmp_path / "run"
    train(recipe_with(*QUICK, "select.enabled=false"), run)
    assert not (run / FILE).exists()
    train(recipe_with(*QUICK), run, report=reported.append)
    assert (run / FILE).read_bytes() == (ranked / FILE).read_bytes()
    assert f"{run} is finished" in [progress.note for progress in reported]
    reported.clear()
    train(recipe_with(*QUICK), run, report=reported.append)
    assert f"{run} is finished" in [progress.note for progress in reported]


@pytest.mark.slow
def test_an_interrupted_fit_begins_anew(ranked: Path, tmp_path: Path, recipe_with: RecipeWith) -> None:
    recipe = recipe_with(*QUICK)
    run = tmp_path / "run"
    tasks: list[str] = []

    def stop() -> None:
        if "rank: trees" in tasks:
            raise Interrupted(15)

    with pytest.raises(Interrupted):
        train(recipe, run, report=lambda progress: tasks.append(progress.task), check=stop)
    assert FILE not in Manifest.read(run).files
    train(recipe, run)
    assert (run / FILE).read_bytes() == (ranked / FILE).read_bytes()


def test_an_export_has_the_ranker(ranked: Path, tmp_path: Path) -> None:
    export_model(ranked, tmp_path / "exported")
    assert (tmp_path / "exported" / FILE).read_bytes() == (ranked / FILE).read_bytes()
    assert FILE in Manifest.read(tmp_path / "exported").files
    shutil.copytree(tmp_path / "exported", tmp_path / "copy")
    assert Pipeline.open(RunFiles.open(tmp_path / "copy"))


def test_documents_without_sentences_give_no_ranker(tmp_path: Path) -> None:
    rows = [{"id": str(number), "document": f"Router {number}.", "summary": "Packets"} for number in range(30)]
    write_lines(tmp_path / "rows.jsonl", rows)
    (tmp_path / "toy.yaml").write_text(TOY.format(folder=tmp_path))
    notes: list[str] = []
    recipe = load_recipe(tmp_path / "toy.yaml", ["train.steps=0"])
    train(recipe, tmp_path / "run", report=lambda progress: notes.append(progress.note))
    assert "no sentence ranker: the training documents have no sentences of prose" in notes
