import os
from pathlib import Path

import pytest

from sumpool.errors import CheckpointError, RecipeError
from sumpool.runs.run_folder import exclusive, new_folder, require_run_folder


def test_a_second_run_is_refused_by_the_id_of_the_first(tmp_path: Path) -> None:
    with exclusive(tmp_path):
        message = f"must be used by one run at a time, but process {os.getpid()} is training there"
        with pytest.raises(CheckpointError, match=message), exclusive(tmp_path):
            pass
        require_run_folder(tmp_path)  # the files of the lock are no obstacle
    with exclusive(tmp_path):
        pass


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
