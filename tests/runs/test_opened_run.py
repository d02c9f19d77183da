from pathlib import Path

import pytest

from sumpool.progress import Progress
from sumpool.recipe.load import load_recipe
from sumpool.runs import run_folder
from sumpool.runs.run_folder import LOCK, opened
from sumpool.training.processes import Processes


def test_the_first_process_locks_the_folder(tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe, run, notes = load_recipe(tiny_recipe), tmp_path / "run", list[Progress]()
    monkeypatch.setattr(run_folder, "extension_note", lambda *_: "it goes on")
    monkeypatch.setattr(run_folder, "open_run", lambda *_: "manifest")
    for finished, count in ((True, 0), (False, 1)):
        monkeypatch.setattr(run_folder, "is_finished", lambda *_, result=finished: result)
        with opened(run, recipe, tmp_path, Processes(), notes.append) as has_ended:
            assert has_ended is finished
            assert (run / LOCK).exists()
        assert len(notes) == count
        assert not (run / LOCK).exists()


def test_other_processes_leave_the_folder_alone(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Processes, "from_main", lambda *_: False)
    with opened(tmp_path / "run", load_recipe(tiny_recipe), tmp_path, Processes(1, 2), lambda _: None) as has_ended:
        assert not has_ended
    assert not (tmp_path / "run").exists()
