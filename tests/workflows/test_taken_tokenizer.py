"""From documents to summaries with the byte pairs of another model."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sumpool.bench.models import bench
from sumpool.documents.document import Document
from sumpool.inference.loading import load_model
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.text.hf_tokenizer import HuggingFaceTokenizer
from sumpool.workflows.summarize import summarize
from sumpool.workflows.train import train
from tests.conftest import BARE, TRAINED, read_lines, train_with_notes
from tests.text.bart import learn, take_over


@pytest.fixture(scope="module")
def folder(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tokenizer, the recipe of `trained` with it, and a run."""
    folder = tmp_path_factory.mktemp("pairs")
    rows = read_lines(trained / "rows.jsonl")
    take_over(learn([row["document"] for row in rows[:9]], folder / "bart", 300), folder / "taken")
    recipe = TRAINED.format(folder=folder).replace("vocabulary: 320", f"tokenizer: {folder}/taken")
    (folder / "toy.yaml").write_text(recipe.replace(f"{folder}/rows", f"{trained}/rows"))
    train(load_recipe(folder / "toy.yaml", BARE), folder / "run")
    return folder


@pytest.fixture
def recipe_with(folder: Path) -> Callable[..., Recipe]:
    """The recipe with other settings."""
    return lambda *overrides: load_recipe(folder / "toy.yaml", (*BARE, *overrides))


@pytest.mark.slow
def test_a_run_holds_the_tokenizer_and_summarises_with_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = folder / "run"
    assert (run / "tokenizer.json").read_bytes() == (folder / "taken" / "tokenizer.json").read_bytes()
    assert not (run / "tokenizer.model").exists()
    monkeypatch.chdir(run)  # nothing beside the run is needed
    loaded = load_model(run)
    assert isinstance(loaded.tokenizer, HuggingFaceTokenizer)
    documents = [
        Document("short", "A router drops."),
        Document("long", "Router sends packet. " * 60),
        Document("no", ""),
    ]
    settings = ["summarize.on_overflow=truncate", "summarize.no_repeat_words=2", "summarize.min_length=5"]
    found = list(summarize(documents, run, overrides=settings))
    assert [bool(each.text) for each in found] == [True, True, False]
    assert found[1].tokens_read == 64 < found[1].tokens_total


@pytest.mark.slow
def test_a_run_resumes_and_initialises_another(
    folder: Path, tmp_path: Path, recipe_with: Callable[..., Recipe]
) -> None:
    assert any("is finished" in note for note in train_with_notes(recipe_with(), folder / "run"))
    other = recipe_with(
        f"data.tokenizer={folder}/run", f"data.prepared={tmp_path}/data", f"train.init_from={folder}/run"
    )
    assert any(note.startswith("began with") for note in train_with_notes(other, tmp_path / "run"))


@pytest.mark.slow
def test_another_vocabulary_is_initialised_with_means_of_the_first(
    folder: Path, tmp_path: Path, recipe_with: Callable[..., Recipe]
) -> None:
    take_over(learn(["other words"], tmp_path / "bart", 300), tmp_path / "taken")
    overrides = (f"data.tokenizer={tmp_path}/taken", f"data.prepared={tmp_path}/data", f"train.init_from={folder}/run")
    notes = train_with_notes(recipe_with(*overrides), tmp_path / "run")
    assert any(f"{folder}/run has another vocabulary: the " in note for note in notes), notes
    assert any(note.startswith("began with") for note in notes)


@pytest.mark.slow
@pytest.mark.usefixtures("small_probes")
def test_bench_uses_the_vocabulary_of_the_tokenizer(folder: Path) -> None:
    settings = ("bench.target=4", "bench.generate=2", "bench.repeats=1")
    found = bench(folder / "toy.yaml", overrides=settings, lengths=(32,))
    assert found.settings["vocabulary"] == load_model(folder / "run").tokenizer.vocab_size
