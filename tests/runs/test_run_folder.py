import os
import shutil
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.prepared_folder import content_digest, write_manifest
from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.io.manifest import Manifest
from sumpool.progress import no_op
from sumpool.recipe.load import load_recipe
from sumpool.runs import run_folder
from sumpool.runs.model_card import imported_card, transformers_card
from sumpool.runs.run_folder import LOCK, new_folder, opened, prepared_data_of, spread
from sumpool.training.processes import Processes


def test_a_new_folder_is_made_by_one_process(tmp_path: Path) -> None:
    folder = tmp_path / "beside" / "new"
    message = f"new must be written by one process at a time, but process {os.getpid()} is writing it"
    with new_folder(folder) as new:
        (new / "file").touch()
        with pytest.raises(RecipeError, match=message), new_folder(folder):
            pass
    assert [path.name for path in folder.parent.iterdir()] == ["new"]
    with pytest.raises(RecipeError, match="new must be new or an empty folder, got other content"), new_folder(folder):
        pass
    assert (folder / "file").exists()


def test_the_first_process_locks_the_folder_for_one_run(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    monkeypatch.setattr(run_folder, "_open", lambda *_: True)
    with opened(run, load_recipe(tiny_recipe), tmp_path, Processes(), lambda _: None) as has_ended:
        assert has_ended
        assert (run / LOCK).exists()
        message = f"must be used by one run at a time, but process {os.getpid()} is training there"
        with (  # the files of the lock are no obstacle
            pytest.raises(CheckpointError, match=message),
            opened(run, load_recipe(tiny_recipe), tmp_path, Processes(), lambda _: None),
        ):
            pass
    assert not (run / LOCK).exists()


def test_other_processes_leave_the_folder_alone(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Processes, "from_main", lambda *_: False)
    with opened(tmp_path / "run", load_recipe(tiny_recipe), tmp_path, Processes(1, 2), lambda _: None) as has_ended:
        assert not has_ended
    assert not (tmp_path / "run").exists()


@pytest.fixture
def run(run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose data lies in prepared/renamed, beside other data."""
    monkeypatch.chdir(tmp_path)
    for name in ("other", "renamed"):
        folder = tmp_path / "prepared" / name
        folder.mkdir(parents=True)
        (folder / "tokens.bin").write_text(name)
        write_manifest(folder, {"fingerprint": name}, no_op)
    run = Path(shutil.copytree(run_folder, tmp_path / "run"))
    manifest = Manifest.read(run)
    Manifest(manifest.files, {**manifest.facts, "data": content_digest(tmp_path / "prepared" / "renamed")}).write(run)
    return run


def test_data_of_a_run_is_that_of_its_settings_or_found_by_its_content(run: Path) -> None:
    assert prepared_data_of(run, load_recipe(run)) == Path("prepared/renamed")
    assert prepared_data_of(run, load_recipe(run, ["data.prepared=prepared/other"])) == Path("prepared/other")
    with pytest.raises(DataError, match=r"prepared/typo must be the prepared data of .*run, but there is no"):
        prepared_data_of(run, load_recipe(run, ["data.prepared=prepared/typo"]))
    shutil.rmtree("prepared/renamed")
    for _ in range(2):
        with pytest.raises(DataError, match=r"prepared/random must be the prepared data of .*run, but"):
            prepared_data_of(run, load_recipe(run))
        (run / "manifest.json").write_text("{")


@pytest.mark.parametrize("verify", ["true", "false"])
def test_changed_data_is_named(run: Path, verify: str) -> None:
    recipe = load_recipe(run, [f"data.verify={verify}"])
    prepared_data_of(run, recipe)
    Path("prepared/renamed/tokens.bin").write_text("RENAMED")
    with pytest.raises(DataError, match=r"prepared/renamed/tokens\.bin must hold 7 bytes with .* it is damaged or was"):
        prepared_data_of(run, recipe)


HOSTILE = "a`b\n# forged <b>|"


def test_names_forge_no_lines(tiny_recipe: Path) -> None:
    recipe = load_recipe(tiny_recipe)
    model = SummarizationModel(recipe.model, 300)
    pages = []
    for name in ("plain", HOSTILE):
        card = imported_card(recipe, Path("runs") / name, f"{name}/model", model, [f"Left out: {name}."])
        pages.append(MarkdownIt("gfm-like", {"linkify": False}).parse(card))
    plain, hostile = [[(token.type, token.tag) for token in page] for page in pages]
    assert plain == hostile
    shown = "".join(token.content for token in pages[1])
    assert "--model 'runs/a`b\\u000a# forged <b>|'" in shown


def test_settings_that_transformers_does_not_have_are_listed(tiny_recipe: Path) -> None:
    chosen = ("fast=true", "focus='[a](b)'", "key_points=3", "sections=true", "length=5s", "repair=false")
    recipe = load_recipe(tiny_recipe, [f"summarize.{change}" for change in chosen])
    card = transformers_card(recipe, Path("runs/tiny"), SummarizationModel(recipe.model, 300), "bart")
    listed = card.partition("## Settings of `summarize` that transformers does not have\n\n")[2].partition("\n\n")[0]
    expected = ("fast", "no_repeat_words: 3", "on_overflow: select", "length: 5s", r"focus: \[a\](b)", "key_points: 3")
    assert listed.splitlines() == [f"- {name}" for name in (*expected, "sections")]


def test_documents_are_spread_evenly() -> None:
    assert spread(10, 4) == [0, 2, 5, 7]
    assert spread(3, 99) == spread(3, None) == [0, 1, 2]
    with pytest.raises(RecipeError, match="the limit must be at least 1 document, got 0"):
        spread(3, 0)
