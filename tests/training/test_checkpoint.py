import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import safetensors.torch
import torch

from sumpool.errors import CheckpointError, ResourceError
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.progress import Progress
from sumpool.training.checkpoint import Checkpoint, Checkpoints, TrainingState

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


def assert_newest_is(checkpoints: Checkpoints, step: int) -> None:
    found = checkpoints.load_newest()
    assert found is not None
    assert found.state == state_of(step)
    assert torch.equal(found.weights["weight"], checkpoint_of(step).weights["weight"])
    assert torch.equal(found.moments["weight:exp_avg"], checkpoint_of(step).moments["weight:exp_avg"])


def test_the_newest_is_loaded(tmp_path: Path) -> None:
    assert checkpoints_in(tmp_path).load_newest() is None
    assert_newest_is(checkpoints_in(tmp_path, 5, 20, 100), 100)
    files = list((tmp_path / "checkpoints" / "step-00000100").iterdir())
    assert {path.name for path in files} == set(FILES)
    assert {path.stat().st_mode & 0o044 for path in files} == {0o044}, "whoever may enter the folder may read it"


def test_the_newest_and_the_best_stay(tmp_path: Path) -> None:
    checkpoints = checkpoints_in(tmp_path, 1, 2, 3, 4, 5)
    checkpoints.prune(5, best_step=2)
    assert checkpoints.steps() == [2, 4, 5]


def test_folders_of_other_names_are_no_checkpoints(tmp_path: Path) -> None:
    checkpoints = checkpoints_in(tmp_path, 3, 4, 5)
    for name in ("step-1", "step-0000000002", "step-00000003.kept", "step-"):
        (checkpoints.folder / name).mkdir()
    checkpoints.prune(5, best_step=0)
    assert checkpoints.steps() == [4, 5]
    assert len(list(checkpoints.folder.iterdir())) == 6


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


def test_damaged_checkpoints_of_later_steps_push_no_intact_one_out(tmp_path: Path) -> None:
    checkpoints = checkpoints_in(tmp_path, 1, 2, 8, 9)
    checkpoints.prune(2, best_step=0)
    assert checkpoints.steps() == [1, 2, 8, 9]


def test_nothing_is_deleted_for_a_damaged_checkpoint(tmp_path: Path) -> None:
    checkpoints = checkpoints_in(tmp_path, 1, 2, 3)
    (checkpoints.path(3) / "state.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"state\.json must hold"):
        checkpoints.prune(3, best_step=0)
    assert checkpoints.steps() == [1, 2, 3]


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


def flip_bit(path: Path, draw: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def truncate(path: Path, draw: random.Random) -> None:
    os.truncate(path, draw.randrange(path.stat().st_size))


def append(path: Path, draw: random.Random) -> None:
    path.write_bytes(path.read_bytes() + draw.randbytes(draw.randint(1, 9)))


def empty_a_block(path: Path, draw: random.Random) -> None:
    content = path.read_bytes()
    begin = draw.randrange(8)  # a header, never zero
    path.write_bytes(content[:begin] + bytes(8) + content[begin + 8 :])


def remove(path: Path, draw: random.Random) -> None:
    del draw
    path.unlink()


def swap_with_the_older(path: Path, draw: random.Random) -> None:
    del draw
    other = path.parent.parent / "step-00000001" / path.name
    path.write_bytes(other.read_bytes())


DAMAGES = [flip_bit, truncate, append, empty_a_block, remove, swap_with_the_older]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_named_and_skipped(
    damage: Callable[[Path, random.Random], None], tmp_path: Path
) -> None:
    draw = random.Random(1)
    whole = checkpoints_in(tmp_path, 1, 2)
    for number, name in enumerate(FILES * 6):
        copy = Checkpoints(tmp_path / f"copy{number}", keep=2)
        shutil.copytree(whole.folder, copy.folder)
        damage(copy.path(2) / name, draw)
        notes: list[Progress] = []
        found = copy.load_newest(notes.append)
        assert found is not None
        assert found.state == state_of(1)
        assert notes[0].note.startswith(f"skipped a damaged checkpoint: {copy.path(2)}/")
        if damage is not swap_with_the_older:  # the files of one step beside the manifest of another
            assert notes[0].note.split(": ")[1].startswith(f"{copy.path(2) / name} must")


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
    notes: list[Progress] = []
    newest = checkpoints.load_newest(notes.append)
    assert newest is not None
    assert newest.state == state_of(2)
    assert f"must hold finite numbers, got others in {name}" in notes[0].note


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("state.json", b"[" * 100_000, "more than 64 levels of brackets"),
        ("state.json", b"[]", "must hold a JSON object, got list"),
        ("state.json", b"{}", "must hold the state of a run"),
        ("state.json", b'{"step": "1", "position": {}}', "must hold numbers of steps"),
        (
            "state.json",
            b'{"step": 1, "best_loss": NaN, "position": {}}',
            "must hold numbers of steps",
        ),
        (
            "model.safetensors",
            b"\x02\0\0\0\0\0\0\0[]",
            "must be a safetensors file, got: Error while deserializing header: invalid JSON",
        ),
        ("optimizer.safetensors", b"\0\0\0\0\0\0\0\x80", "must be a safetensors file, got: a header of 9,223"),
    ],
)
def test_hostile_files_that_the_manifest_lists_are_skipped(
    tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    checkpoints = checkpoints_in(tmp_path, 1, 2)
    folder = checkpoints.path(2)
    (folder / name).write_bytes(content)
    manifest = Manifest.read(folder, "checkpoint")
    files = {**manifest.files, name: FileDigest.of(folder / name)}
    Manifest(files, manifest.facts, kind="checkpoint").write(folder)
    notes: list[Progress] = []
    newest = checkpoints.load_newest(notes.append)
    assert newest is not None
    assert newest.state == state_of(1)
    assert name in notes[0].note
    assert problem in notes[0].note
