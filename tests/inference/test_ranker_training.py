import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sumpool.documents.document import Document
from sumpool.errors import Interrupted
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.io.manifest import Manifest
from sumpool.progress import Progress
from sumpool.ranking.ranker import FILE, Ranker
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.workflows.export_model import export_model
from sumpool.workflows.train import train
from tests.conftest import TOY, story

QUICK = (
    "train.steps=0",
    "summarize.mode=extractive",
    "summarize.samples=2",
    "select.trees=9",
)


@pytest.fixture(scope="module")
def ranked(recipe_with: Callable[..., Recipe], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained run with a ranker."""
    return train(recipe_with(*QUICK), tmp_path_factory.mktemp("ranked") / "run")


def test_training_ends_with_a_ranker(ranked: Path) -> None:
    manifest = Manifest.read(ranked)
    manifest.verify(ranked, manifest.files)
    assert manifest.facts["ranker_documents"] > 20
    assert Ranker.load(ranked).choice is None
    (summary,) = Pipeline.open(RunFiles.open(ranked, ["summarize.fast=true"])).summarize([Document("a", story(1, 60))])
    assert summary.text


@pytest.mark.slow
def test_a_finished_run_without_a_ranker_gets_one_and_keeps_it(
    ranked: Path, tmp_path: Path, recipe_with: Callable[..., Recipe]
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
def test_an_interrupted_fit_begins_anew(ranked: Path, tmp_path: Path, recipe_with: Callable[..., Recipe]) -> None:
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
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "toy.yaml").write_text(TOY.format(folder=tmp_path))
    notes: list[str] = []
    recipe = load_recipe(tmp_path / "toy.yaml", ["train.steps=0"])
    train(recipe, tmp_path / "run", report=lambda progress: notes.append(progress.note))
    assert "no sentence ranker: the training documents have no sentences of prose" in notes
