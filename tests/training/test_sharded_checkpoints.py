"""Checkpoints in shards: what several processes write, any number reads, bit by bit."""

import json
import shutil
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
from torch.distributed.checkpoint.state_dict_loader import load

from sumpool.errors import CheckpointError, ResourceError
from sumpool.io.atomic import temporary_path
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.progress import Progress
from sumpool.training.checkpoint import Checkpoints
from sumpool.training.checkpoint_files import Checkpoint
from sumpool.training.checkpoint_shards import read_shards
from sumpool.training.distributed import join_processes
from sumpool.training.sharded_checkpoints import ShardedCheckpoints
from sumpool.training.sharded_tensors import part_of
from sumpool.training.state import TrainingState
from tests.training.several import PROCESSES, free_port, join_as

SHAPES: dict[str, tuple[int, ...]] = {"matrix": (7, 3), "vector": (5,), "short": (1, 4), "scalar": (), "empty": (0, 2)}
TYPES = {"matrix": torch.float32, "vector": torch.float64, "short": torch.bfloat16}


def tensors_of(step: int, kind: str) -> dict[str, Tensor]:
    """Draw tensors of all shapes and types."""
    torch.manual_seed(1000 * step + len(kind))
    return {f"{name}{kind}": torch.randn(shape).to(TYPES.get(name)) for name, shape in SHAPES.items()}


def state_of(step: int) -> TrainingState:
    return TrainingState(step=step)


def _save(rank: int, size: int, port: str, folder: Path, sharded: bool, reverse: bool = False) -> None:
    """Save the checkpoints of three steps, and change the tensors in place after each save."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, zeros

    with join_as(rank, size, port), join_processes("cpu") as processes:
        mesh = init_device_mesh("cpu", (size,))
        checkpoints = ShardedCheckpoints(folder, 2, processes)
        for step in (1, 2, 3):
            weights, moments = tensors_of(step, ""), tensors_of(step, ":exp_avg")
            if reverse:
                weights, moments = (dict(reversed(tensors.items())) for tensors in (weights, moments))
            if sharded:
                for tensors in (weights, moments):
                    for name, tensor in tensors.items():
                        if tensor.dim():
                            like = zeros(tensor.shape, dtype=tensor.dtype, device_mesh=mesh, placements=[Shard(0)])
                            tensors[name] = part_of(tensor, like)
            checkpoints.save_and_prune(step, Checkpoint(weights, moments, asdict(state_of(step))), best_step=1)
            for tensor in (*weights.values(), *moments.values()):
                tensor.zero_()
        checkpoints.wait()


def run(function: Callable[..., None], size: int, *arguments: object) -> None:
    """Call a function in several processes."""
    port = free_port()
    processes = [PROCESSES.Process(target=function, args=(rank, size, port, *arguments)) for rank in range(size)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * size


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "checkpoints"
    run(_save, 2, folder, True)
    return folder


@pytest.mark.parametrize("sharded", [pytest.param(False, marks=pytest.mark.slow), True], ids=["replicated", "sharded"])
@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_what_several_processes_write_one_reads(size: int, sharded: bool, tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoints", 2)
    left = temporary_path(checkpoints.path(3))  # by a run that was killed
    left.mkdir(parents=True)
    (left / "other").write_text("torn")
    run(_save, size, tmp_path / "checkpoints", sharded)
    assert not (checkpoints.path(3) / "other").exists()
    assert checkpoints.steps() == [1, 2, 3]
    newest = checkpoints.load_newest()
    assert newest is not None
    assert newest.state == asdict(state_of(3))
    for kind, tensors in (("", newest.weights), (":exp_avg", newest.moments)):
        assert_equal(tensors, tensors_of(3, kind))
    assert_equal(checkpoints.read_weights(1), tensors_of(1, ""))
    shards = sorted(path.name for path in checkpoints.path(3).glob("*.safetensors"))
    assert shards == [f"shard-{number:05d}.safetensors" for number in range(1, size + 1)]
    assert not list(checkpoints.folder.glob(".tmp*"))


@pytest.mark.slow
def test_equal_steps_have_equal_files_in_any_order_of_the_tensors(saved: Path, tmp_path: Path) -> None:
    run(_save, 2, tmp_path / "checkpoints", True, True)
    for path in saved.rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "checkpoints" / path.relative_to(saved)).read_bytes()


def test_the_reader_of_pytorch_reads_them(saved: Path) -> None:
    expected = {f"model.{name}": tensor for name, tensor in tensors_of(3, "").items()}
    tensors = {name: torch.zeros_like(tensor) for name, tensor in expected.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        load(tensors, storage_reader=HuggingFaceStorageReader(str(saved / "step-00000003")), no_dist=True)
    assert_equal(tensors, expected)


@pytest.mark.parametrize("damage", ["flipped", "missing", "another", "unlisted", "listed"])
def test_a_damaged_shard_leads_to_the_checkpoint_before(damage: str, saved: Path, tmp_path: Path) -> None:
    checkpoints = copy_of(saved, tmp_path)
    first, second = sorted(checkpoints.path(3).glob("*.safetensors"))
    content = bytearray(first.read_bytes())
    match damage:
        case "flipped":
            content[-1] ^= 1
            first.write_bytes(content)
        case "missing":
            first.unlink()
        case "another":
            first.write_bytes(second.read_bytes())
        case "unlisted":
            metadata = {"DCP_SHARDING_INFO": '{"model.more": {"saved_offsets": [0]}}'}
            save_file({"model.more": torch.ones(1)}, first.with_name("shard-00003.safetensors"), metadata)
        case "listed":
            first.unlink()
            rewrite_manifest(checkpoints.path(3))
    notes: list[Progress] = []
    newest = checkpoints.load_newest(notes.append)
    assert newest is not None
    assert newest.state["step"] == 2
    assert "skipped a damaged checkpoint" in notes[0].note
    assert "\n" not in notes[0].note


def test_shards_with_other_offsets_are_refused(tmp_path: Path) -> None:
    for offsets in ("{}", "[]", '{"model.matrix": {"saved_offsets": [1, "x"]}}', "x", "1" * 5000):
        metadata = {"DCP_SHARDING_INFO": offsets}
        save_file({"model.matrix": torch.ones(2, 2)}, tmp_path / "shard-1.safetensors", metadata)
        with pytest.raises(CheckpointError, match="must hold the shards of a checkpoint"):
            read_shards(tmp_path)


def test_numbers_that_are_not_finite_are_refused(saved: Path, tmp_path: Path) -> None:
    checkpoints = copy_of(saved, tmp_path)
    for path in checkpoints.path(3).glob("*.safetensors"):
        tensors = load_file(path)
        metadata = {name: {"saved_offsets": [0] * tensor.dim()} for name, tensor in tensors.items()}
        broken = {name: tensor / 0 for name, tensor in tensors.items()} if path.stem.endswith("00001") else {}
        save_file(broken, path, {"DCP_SHARDING_INFO": json.dumps(metadata)})
    rewrite_manifest(checkpoints.path(3))
    newest = checkpoints.load_newest()
    assert newest is not None
    assert newest.state["step"] == 2


def _fail(rank: int, size: int, port: str, folder: Path) -> None:
    """Fail to write the second checkpoint in one process, and the manifest of the third in process 0."""
    with join_as(rank, size, port), join_processes("cpu") as processes, pytest.MonkeyPatch.context() as patch:
        checkpoints = ShardedCheckpoints(folder, 2, processes)
        for step in (1, 2, 3, 4):
            checkpoints.wait()
            if step == 2 and rank == 1:
                patch.setattr("safetensors.torch.save_file", fail)
            elif step == 3:
                patch.undo()
                patch.setattr("sumpool.training.checkpoint_files.Manifest.write", fail)
            elif step == 4:
                patch.undo()
            checkpoint = Checkpoint(tensors_of(step, ""), {}, asdict(state_of(step)))
            checkpoints.save_and_prune(step, checkpoint, best_step=1)
            if step in (2, 3):
                with pytest.raises(ResourceError, match=r"step-0000000\d must be written completely.*make room"):
                    checkpoints.wait()
                assert rank or not list(folder.glob(".tmp*"))
        checkpoints.wait()


def fail(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.slow
def test_a_full_disk_leaves_the_checkpoints_before(tmp_path: Path) -> None:
    run(_fail, 2, tmp_path / "checkpoints")
    assert Checkpoints(tmp_path / "checkpoints", 2).steps() == [1, 4]


def assert_equal(tensors: object, expected: dict[str, Tensor]) -> None:
    assert isinstance(tensors, dict)
    assert tensors.keys() == expected.keys()
    for name, tensor in expected.items():
        assert tensors[name].dtype == tensor.dtype
        assert torch.equal(tensors[name], tensor)


def copy_of(saved: Path, folder: Path) -> Checkpoints:
    return Checkpoints(Path(shutil.copytree(saved, folder / "checkpoints")), 2)


def rewrite_manifest(folder: Path) -> None:
    """Describe the files of a checkpoint as they are."""
    manifest = Manifest.read(folder, "checkpoint")
    files = {name: FileDigest.of(folder / name) for name in manifest.files if (folder / name).exists()}
    Manifest(files, manifest.facts, kind="checkpoint").write(folder)
