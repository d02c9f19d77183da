import shutil
from pathlib import Path

import numpy as np
import pytest

from sumpool.data.batches import TrainingData
from sumpool.documents.document import Document
from sumpool.errors import DataError, Interrupted, RecipeError
from sumpool.inference.loading import load_for_generation
from sumpool.inference.pipeline import Pipeline
from sumpool.io.manifest import Manifest
from sumpool.progress import no_op
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.runs.run_summary import records_of
from sumpool.runs.training_setup import TrainingSetup, set_up_training
from sumpool.training.journal import JOURNAL
from sumpool.workflows.teacher import TaughtDocuments, begin_teaching, data_with_teacher
from sumpool.workflows.train import dry_run, train
from tests.conftest import BARE, Stop, read_lines, relist
from tests.tasks.classification.test_classify import write_recipe
from tests.training.toy import trace

WORD = ("train.distillation=word",)
LAYERS = (*WORD, "train.loss_weights={hidden_states: 1, attention_maps: 0.5}")
SEQUENCE = ("train.distillation=sequence",)


def recipe_of(folder: Path, *changes: str, teacher: Path | None = None) -> Recipe:
    """The recipe of `trained` with a teacher, by default the run of `trained`."""
    settings = (f"train.teacher={teacher or folder / 'run'}", "train.steps=6", "train.validate_every=3", *BARE)
    return load_recipe(folder / "toy.yaml", [*settings, *changes])


def setup_of(recipe: Recipe) -> TrainingSetup:
    return set_up_training(recipe, no_op, no_op)


def teach(recipe: Recipe, setup: TrainingSetup, run: Path) -> TrainingData:
    return begin_teaching(recipe, setup, data_with_teacher(recipe, setup, run), run, no_op, no_op)


@pytest.mark.parametrize("changes", [WORD, LAYERS, SEQUENCE])
def test_a_run_with_a_teacher_resumes_exactly(trained: Path, tmp_path: Path, changes: tuple[str, ...]) -> None:
    recipe = recipe_of(trained, *changes)
    check = Stop()
    setup_of(recipe)  # verifies files, which later runs of the process know
    train(recipe, tmp_path / "whole", check=check)
    quarter = check.calls // 4
    for quarters in (1, 2):
        with pytest.raises(Interrupted, match="SIGTERM"):
            train(recipe, tmp_path / "stopped", check=Stop(quarters * quarter + 1))
    train(recipe, tmp_path / "stopped")
    whole, stopped = (trace(tmp_path / name) for name in ("whole", "stopped"))
    for files in (whole, stopped):
        for name in ("README.md", "manifest.json", "curves.svg"):
            files.pop(name, None)
    assert stopped == whole
    assert "by distillation from" in (tmp_path / "whole" / "README.md").read_text()


def test_words_are_learnt_from_the_distribution(trained: Path, tmp_path: Path) -> None:
    train(recipe_of(trained, *WORD, "train.distillation_temperature=2"), tmp_path / "run")
    assert all("distillation" in record for record in records_of(tmp_path / "run" / JOURNAL, "step"))
    manifest = Manifest.read(tmp_path / "run" / "teacher", "summaries")
    assert (manifest.facts["distillation"], manifest.files) == ("word", {})


def test_sequences_are_the_summaries_of_the_teacher(trained: Path, tmp_path: Path) -> None:
    recipe = recipe_of(trained, *SEQUENCE)
    setup = setup_of(recipe)
    data = teach(recipe, setup, tmp_path)
    assert isinstance(data.training, TaughtDocuments)
    assert data.validation is setup.data.validation
    assert np.array_equal(data.training.lengths, setup.data.training.lengths)
    lines = read_lines(tmp_path / "teacher" / "summaries.jsonl")
    rows = read_lines(setup.prepared / "train" / "texts.jsonl")
    assert [line["id"] for line in lines] == [row["id"] for row in rows]
    documents = [Document(row["id"], row["document"]) for row in rows]
    expected = [summary.text for summary in Pipeline.of(load_for_generation(trained / "run")).summarize(documents)]
    assert [line["summary"] for line in lines] == expected
    for index, text in enumerate(expected):
        item = data.training[index]
        assert np.array_equal(item.ids, setup.data.training[index].ids)
        assert item.target is not None
        assert item.target.tolist() == list(setup.tokenizer.encode(text))


def test_summaries_are_written_once_and_in_parts(trained: Path, tmp_path: Path) -> None:
    recipe = recipe_of(trained, *SEQUENCE, "summarize.batch_tokens=64")
    setup = setup_of(recipe)
    teach(recipe, setup, tmp_path)
    path = tmp_path / "teacher" / "summaries.jsonl"
    content, time = path.read_bytes(), path.stat().st_mtime_ns
    teach(recipe, setup, tmp_path)
    assert path.stat().st_mtime_ns == time
    facts = Manifest.read(tmp_path / "teacher", "summaries").facts
    Manifest({}, facts, kind="summaries").write(tmp_path / "teacher")
    path.write_bytes(content[: len(content) // 2])
    teach(recipe, setup, tmp_path)
    assert path.read_bytes() == content


def test_an_empty_summary_leaves_the_reference(trained: Path) -> None:
    setup = setup_of(load_recipe(trained / "toy.yaml"))
    documents = setup.data.training
    taught = TaughtDocuments(documents, [np.array([], np.uint16)] * (len(documents) - 1) + [np.array([7, 8])])
    first, last = taught[0].target, taught[len(documents) - 1].target
    assert first is not None
    assert last is not None
    reference = documents[0].target
    assert reference is not None
    assert first.tolist() == reference.tolist()
    assert last.tolist() == [7, 8]


def test_damaged_summaries(trained: Path, tmp_path: Path) -> None:
    recipe = recipe_of(trained, *SEQUENCE)
    setup = setup_of(recipe)
    teach(recipe, setup, tmp_path)
    path = tmp_path / "teacher" / "summaries.jsonl"
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"', b"'", 1))
    with pytest.raises(DataError, match="it is damaged or was changed"):
        teach(recipe, setup, tmp_path)
    facts = Manifest.read(tmp_path / "teacher", "summaries").facts
    Manifest({}, facts, kind="summaries").write(tmp_path / "teacher")
    with pytest.raises(DataError, match=r"summaries.jsonl:1 must be a document's id and summary.*; remove .*teacher"):
        teach(recipe, setup, tmp_path)
    path.write_bytes(b'{"summary": 3}\n')
    with pytest.raises(DataError, match=r"summaries.jsonl:1 must be a document's id and summary"):
        teach(recipe, setup, tmp_path)
    path.write_bytes(content * 2)
    with pytest.raises(DataError, match=r"must hold \d+ summaries, got \d+; remove"):
        teach(recipe, setup, tmp_path)


@pytest.mark.parametrize("changes", [WORD, SEQUENCE])
def test_another_teacher_is_refused(trained: Path, tmp_path: Path, changes: tuple[str, ...]) -> None:
    teacher = Path(shutil.copytree(trained / "run", tmp_path / "teacher"))
    recipe = recipe_of(trained, *changes, teacher=teacher)
    setup = setup_of(recipe)
    (tmp_path / "run").mkdir()
    teach(recipe, setup, tmp_path / "run")
    shutil.rmtree(teacher)
    train(load_recipe(trained / "toy.yaml", ["train.steps=2", *BARE]), teacher)
    with pytest.raises(RecipeError, match=r"must be of the same teacher to go on, got weights .* put the teacher"):
        teach(recipe, setup, tmp_path / "run")


def test_teachers_that_do_not_fit(trained: Path, tmp_path: Path) -> None:
    recipe = recipe_of(trained, *WORD, teacher=tmp_path / "none")
    setup = setup_of(recipe)
    with pytest.raises(RecipeError, match=r"train\.teacher must be a run folder with model\.safetensors, got .*none"):
        data_with_teacher(recipe, setup, None)
    recipe = recipe_of(trained, *WORD)
    with pytest.raises(RecipeError, match="must be another run than the one to train"):
        data_with_teacher(recipe, setup, trained / "run")
    for name, value in (("source_length", 65), ("target_length", 17)):
        longer = recipe_of(trained, *WORD, f"model.{name}={value}")
        with pytest.raises(RecipeError, match=rf"model\.{name} must be at most that of train\.teacher, {value - 1}"):
            data_with_teacher(longer, setup, None)


def test_another_vocabulary_can_teach_sequences_only(trained: Path, tmp_path: Path) -> None:
    other = ("data.vocabulary=300", f"data.prepared={tmp_path / 'prepared'}")
    with pytest.raises(RecipeError, match=r"teacher must have the vocabulary of .*set train\.distillation=sequence"):
        train(recipe_of(trained, *WORD, *other), tmp_path / "run")
    train(recipe_of(trained, *SEQUENCE, *other), tmp_path / "other")
    assert (tmp_path / "other" / "model.safetensors").is_file()


def test_a_dry_run_needs_no_folder(trained: Path) -> None:
    assert all(dry_run(recipe_of(trained, *changes)).seconds > 0 for changes in (WORD, SEQUENCE))


def test_settings_of_a_teacher_belong_together(trained: Path) -> None:
    with pytest.raises(RecipeError, match="distillation must be word or sequence to learn from a teacher, got none"):
        recipe_of(trained)
    with pytest.raises(RecipeError, match="teacher must be a run folder for distillation by word, got none"):
        load_recipe(trained / "toy.yaml", WORD)


def test_classifiers_learn_by_word_only(tmp_path: Path) -> None:
    path, prepared = write_recipe(tmp_path), f"data.prepared={tmp_path / 'prepared'}"
    teacher = train(load_recipe(path, [prepared, "train.steps=5"]), tmp_path / "large")
    changes = [prepared, "train.steps=5", f"train.teacher={teacher}"]
    run = train(load_recipe(path, [*changes, *WORD]), tmp_path / "small")
    assert all("distillation" in record for record in records_of(run / JOURNAL, "step"))
    with pytest.raises(RecipeError, match="must be word for task: classification, got sequence; it has no summaries"):
        train(load_recipe(path, [*changes, *SEQUENCE]), tmp_path / "other")
    (teacher / "labels.json").write_text('{"labels": ["1", "0"]}')
    relist(teacher, "labels.json")
    with pytest.raises(RecipeError, match=r"train\.teacher must have the labels of .*prepared, got other"):
        train(load_recipe(path, [*changes, *WORD]), tmp_path / "other")
