import os
import random
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import safetensors.torch
import torch

from sumpool.errors import CheckpointError, ResourceError
from sumpool.progress import Progress
from sumpool.training.checkpoint import Checkpoint, Checkpoints, TrainingState
from tests.conftest import relist

OPERATIONS: list[tuple[object, str]] = [
    (os, "fsync"),
    (os, "replace"),
    (os, "unlink"),
    (os, "rmdir"),
    (Path, "mkdir"),
    (Path, "write_bytes"),
    (Path, "write_text"),
    (Path, "chmod"),
    (safetensors.torch, "save_file"),
]
"""Everything that a save asks of the disk."""
FILES = ["model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"]


def state_of(step: int) -> TrainingState:
    return TrainingState(step=step)


def checkpoint_of(step: int) -> Checkpoint:
    torch.manual_seed(step)
    return Checkpoint({"weight": torch.randn(4, 3)}, {"weight:exp_avg": torch.randn(4, 3)}, state_of(step))


def checkpoints_in(folder: Path, *steps: int) -> Checkpoints:
    checkpoints = Checkpoints(folder / "checkpoints", keep=2)
    for step in steps:
        checkpoints.save(step, checkpoint_of(step))
    return checkpoints


def assert_newest_is(checkpoints: Checkpoints, step: int) -> str:
    """Compare the newest checkpoint with that of a step, and return the first note of loading it."""
    notes: list[Progress] = []
    found = checkpoints.load_newest(notes.append)
    assert found is not None
    assert found.state == state_of(step)
    assert torch.equal(found.weights["weight"], checkpoint_of(step).weights["weight"])
    assert torch.equal(found.moments["weight:exp_avg"], checkpoint_of(step).moments["weight:exp_avg"])
    return notes[0].note if notes else ""


def test_the_newest_is_loaded(tmp_path: Path) -> None:
    assert checkpoints_in(tmp_path).load_newest() is None
    assert_newest_is(checkpoints_in(tmp_path, 5, 20, 100), 100)
    files = list((tmp_path / "checkpoints" / "step-00000100").iterdir())
    assert {path.name for path in files} == set(FILES)
    assert {path.stat().st_mode & 0o044 for path in files} == {0o044}, "whoever may enter the folder may read it"


def test_the_newest_the_best_and_folders_of_other_names_stay(tmp_path: Path) -> None:
    checkpoints = checkpoints_in(tmp_path, 1, 2, 3, 4, 5)
    for name in ("step-1", "step-0000000002", "step-00000003.kept", "step-"):
        (checkpoints.folder / name).mkdir()
    checkpoints.prune(5, best_step=2)
    assert checkpoints.steps() == [2, 4, 5]
    assert len(list(checkpoints.folder.iterdir())) == 7


def test_links_are_not_followed_when_pruning(tmp_path: Path) -> None:
    checkpoints = checkpoints_in(tmp_path, 1, 2, 3, 4)
    elsewhere = tmp_path / "elsewhere"
    checkpoints.path(1).rename(elsewhere)
    checkpoints.path(1).symlink_to(elsewhere)
    (checkpoints.folder / ".tmp-step").symlink_to(elsewhere)
    checkpoints.clean()
    checkpoints.prune(4, best_step=0)
    assert sorted(path.name for path in checkpoints.folder.iterdir()) == ["step-00000003", "step-00000004"]
    assert len(list(elsewhere.iterdir())) == len(FILES)


def test_a_folder_of_checkpoints_that_is_a_link_is_refused(tmp_path: Path) -> None:
    checkpoints = checkpoints_in(tmp_path, 1, 2, 3, 4)
    checkpoints.folder.rename(tmp_path / "elsewhere")
    checkpoints.folder.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / ".tmp-mine").mkdir()
    with pytest.raises(CheckpointError, match="must be a folder, got a link; move what it leads to here"):
        checkpoints.clean()
    assert checkpoints.steps() == [1, 2, 3, 4]
    assert (tmp_path / "elsewhere" / ".tmp-mine").exists()


def test_a_link_in_the_place_of_a_checkpoint_is_replaced(tmp_path: Path) -> None:
    checkpoints = checkpoints_in(tmp_path, 1)
    checkpoints.path(2).symlink_to(tmp_path / "elsewhere")
    checkpoints.save(2, checkpoint_of(2))
    assert not (tmp_path / "elsewhere").exists()
    assert_newest_is(checkpoints, 2)


def test_damaged_checkpoints_push_no_intact_one_out(tmp_path: Path) -> None:
    checkpoints = checkpoints_in(tmp_path, 1, 2, 8, 9)
    checkpoints.prune(2, best_step=0)  # later ones are damaged
    assert checkpoints.steps() == [1, 2, 8, 9]
    (checkpoints.path(9) / "state.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"state\.json must hold"):
        checkpoints.prune(9, best_step=0)
    assert checkpoints.steps() == [1, 2, 8, 9]


def test_a_step_is_written_once_unless_it_is_damaged(tmp_path: Path) -> None:
    checkpoints = checkpoints_in(tmp_path, 1)
    path = checkpoints.path(1) / "state.json"
    before = path.stat().st_mtime_ns
    checkpoints.save(1, checkpoint_of(1))
    assert path.stat().st_mtime_ns == before
    path.write_text("broken")
    checkpoints.save(1, checkpoint_of(1))
    assert_newest_is(checkpoints, 1)


def test_a_save_begins_with_room_for_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = checkpoints_in(tmp_path, 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_048_576 + 95))  # two tensors have 96
    with pytest.raises(ResourceError, match="checkpoints must have 1,048,672 bytes free, got 1,048,671: make room"):
        checkpoints.save(2, checkpoint_of(2))
    assert checkpoints.steps() == [1]


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_checkpoint_is_named_and_skipped(name: str, tmp_path: Path) -> None:
    checkpoints = checkpoints_in(tmp_path, 1, 2)
    path, draw = checkpoints.path(2) / name, random.Random(1)
    content = path.read_bytes()
    for _ in range(6):
        flipped = bytearray(content)
        flipped[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        path.write_bytes(flipped)
        assert assert_newest_is(checkpoints, 1).startswith(f"skipped a damaged checkpoint: {path} must")
    path.unlink()
    assert assert_newest_is(checkpoints, 1).startswith(f"skipped a damaged checkpoint: {path} must")
    shutil.copy(checkpoints.path(1) / name, path)  # the files of one step beside the manifest of another
    assert f"checkpoint: {checkpoints.path(2)}" in assert_newest_is(checkpoints, 1)


def test_a_renamed_checkpoint_is_not_loaded(tmp_path: Path) -> None:
    checkpoints = checkpoints_in(tmp_path, 1, 2)
    checkpoints.path(2).rename(checkpoints.path(3))
    assert_newest_is(checkpoints, 1)
    checkpoints.path(1).rename(checkpoints.path(4))
    with pytest.raises(CheckpointError, match="must hold an intact checkpoint, but all 2 are damaged"):
        checkpoints.load_newest()


@pytest.mark.parametrize(("owner", "name"), OPERATIONS)
def test_whatever_fails_in_a_save_the_checkpoints_before_it_stay(
    owner: object, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = getattr(owner, name)
    failures = 0
    for turn in range(40):
        checkpoints = checkpoints_in(tmp_path / str(turn), 1, 2)
        calls = 0

        def fail(*given: object, last: int = turn, **named: object) -> object:
            nonlocal calls
            calls += 1
            if calls > last:
                raise OSError(28, "No space left on device")
            return original(*given, **named)

        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fail)
            try:
                checkpoints.save(3, checkpoint_of(3))
                checkpoints.prune(3, best_step=0)
            except ResourceError as error:
                assert "must be written completely, got: " in str(error)  # noqa: PT017 - the last turn passes
                failures += 1
            else:
                break
        checkpoints.clean()
        assert not list(checkpoints.folder.glob(".tmp-*"))
        newest = 3 if 3 in checkpoints.steps() else 2
        assert_newest_is(checkpoints, newest)
        if newest == 3:
            shutil.rmtree(checkpoints.path(3))
            assert_newest_is(checkpoints, 2)
    assert failures == turn > 0


@pytest.mark.parametrize("name", ["weight", "weight:exp_avg"])
def test_numbers_that_are_not_finite_are_never_resumed_from(tmp_path: Path, name: str) -> None:
    checkpoints = checkpoints_in(tmp_path, 1, 2)
    checkpoint = checkpoint_of(3)
    {**checkpoint.weights, **checkpoint.moments}[name][1, 2] = torch.nan
    checkpoints.save(3, checkpoint)
    assert f"must hold finite numbers, got others in {name}" in assert_newest_is(checkpoints, 2)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("state.json", b"[]", "must hold a JSON object, got list"),
        ("state.json", b"{}", "must hold the state of a run"),
        ("state.json", b'{"step": "1", "position": {}}', "must hold numbers of steps"),
        ("state.json", b'{"step": 1, "best_loss": NaN, "position": {}}', "must hold numbers of steps"),
        ("optimizer.safetensors", b"\0\0\0\0\0\0\0\x80", "must be a safetensors file, got: a header of 9,223"),
    ],
)
def test_hostile_files_that_the_manifest_lists_are_skipped(
    tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    checkpoints = checkpoints_in(tmp_path, 1, 2)
    folder = checkpoints.path(2)
    (folder / name).write_bytes(content)
    relist(folder, name, "checkpoint")
    note = assert_newest_is(checkpoints, 1)
    assert name in note
    assert problem in note
