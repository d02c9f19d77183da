import os
from pathlib import Path

import pytest

from sumpool.errors import DataError
from sumpool.runs.run_summary import list_runs
from tests.runs.runs import make_run


def test_newest_run_comes_first(tmp_path: Path) -> None:
    for number, name in enumerate(("b", "c", "a")):
        for path in make_run(tmp_path / name).iterdir():
            os.utime(path, (1e9 + 60 * number, 1e9 + 60 * number))
    assert [run.name for run in list_runs(tmp_path)] == ["a", "c", "b"]


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none must be a folder of runs, got none; sumpool train makes one"):
        list_runs(tmp_path / "none")
