"""Preparations on a local Ray cluster, whose files are those of one process byte by byte."""

import json
import sys
from pathlib import Path

import pytest

from sumpool.progress import Progress
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.workflows.prepare import prepare, prepare_on_ray
from tests.conftest import story
from tests.corpora.worker_processes import KillingCheck

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are listed in /proc")


@pytest.fixture
def recipe(tiny_recipe: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tiny_recipe.parent)
    for module in ("encoding", "ingest"):
        monkeypatch.setattr(f"sumpool.data.{module}._SPAN_BYTES", 1 << 13)
    rows = [{"id": f"d{number}", "text": story(number, 30), "summary": story(number, 2)} for number in range(80)]
    Path("train.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows) + "{broken\n")
    return tiny_recipe


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def into(recipe: Path, folder: str) -> Recipe:
    """Documents of a pretraining task, which are cut, with a vocabulary of phrases."""
    task = "data.gap_sentences={words: 20, window: 100}"
    return load_recipe(recipe, [f"data.prepared={folder}", "data.vocabulary=320", "data.phrases=400", task])


def test_the_folder_is_that_of_one_process_although_a_worker_is_killed(recipe: Path) -> None:
    kill = KillingCheck()
    notes: list[str] = []

    def note(progress: Progress) -> None:
        notes.append(progress.note)

    folder, report = prepare_on_ray(
        into(recipe, "cluster"), address="local", workers=1, skip_bad_rows=True, report=note, check=kill
    )
    assert kill.killed == 1
    assert sum(text.startswith("parts to prepare: ") for text in notes) == 2
    assert report.rejected == 1
    one, same = prepare(into(recipe, "one"), skip_bad_rows=True)
    assert report == same
    assert contents(folder) == contents(one)
    assert not list(Path().glob(".*ray.log"))


def test_prepared_data_needs_no_cluster(recipe: Path) -> None:
    prepared = prepare(into(recipe, "one"), skip_bad_rows=True)
    assert prepare_on_ray(into(recipe, "one"), address="nowhere:1", skip_bad_rows=True) == prepared
