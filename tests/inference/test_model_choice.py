import os
from pathlib import Path

import pytest

from sumpool.errors import CheckpointError
from sumpool.inference.model_choice import SHIPPED, default_model, newest_of_all, newest_run


def make_run(folder: Path, seconds: int | None = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "recipe.yaml").touch()
    if seconds is not None:
        (folder / "model.safetensors").touch()
        os.utime(folder / "model.safetensors", (seconds, seconds))
    return folder


def test_the_newest_run_with_a_model_is_taken(tmp_path: Path) -> None:
    newest = make_run(tmp_path / "b", 3)
    make_run(tmp_path / "a", 2)
    make_run(tmp_path / "unfinished")
    (tmp_path / "c").mkdir()
    assert newest_run(tmp_path) == default_model(tmp_path) == newest


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_recipes_without_an_end_are_passed_over(tmp_path: Path) -> None:
    newest = make_run(tmp_path / "b", 3)
    for name in ("device", "pipe"):
        (make_run(tmp_path / name, 4) / "recipe.yaml").unlink()
    (tmp_path / "device" / "recipe.yaml").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe" / "recipe.yaml")
    assert newest_run(tmp_path) == default_model(tmp_path) == newest_of_all(tmp_path) == newest


def test_without_a_run_the_shipped_model_is_taken(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="must hold a trained model, got none; run `sumpool train"):
        newest_run(tmp_path / "runs")
    assert default_model(tmp_path / "runs") == SHIPPED
