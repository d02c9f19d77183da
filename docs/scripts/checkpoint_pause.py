"""Time for which a checkpoint stops a training of several processes, and time until it is complete.

    OMP_NUM_THREADS=1 torchrun --nproc-per-node 2 docs/scripts/checkpoint_pause.py FOLDER

The model has 75 million parameters, with the moments of AdamW 900 MB of tensors. A checkpoint that process 0 gathers
and writes is measured beside one in shards, for replicated and for sharded weights.
"""

import statistics
import sys
import time
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, zeros

from sumpool.training.checkpoint import Checkpoints
from sumpool.training.checkpoint_files import Checkpoint
from sumpool.training.distributed import Processes, join_processes
from sumpool.training.sharded_checkpoints import ShardedCheckpoints
from sumpool.training.sharded_tensors import gather, part_of
from sumpool.training.state import TrainingState

SAVES = 7
SHAPES = {f"layer{number}": (5_000, 1_000) for number in range(15)}


def main(folder: Path) -> None:
    """Print a line for each kind of weights and of checkpoints."""
    torch.set_num_threads(1)
    with join_processes("cpu") as processes:
        for kind in ("ddp", "fsdp"):
            weights = _tensors(processes, is_sharded=kind == "fsdp")
            moments = {f"{name}:{moment}": tensor.clone() for name, tensor in weights.items() for moment in "ab"}
            for name, measure in (("gathered", _measure_gathered), ("in shards", _measure_sharded)):
                pauses, totals = measure(folder / f"{kind}-{name}", weights, moments, processes)
                if processes.is_main:
                    sys.stdout.write(f"{kind}, {name}: pause {_figures(pauses)}, complete {_figures(totals)}\n")


def _measure_gathered(
    folder: Path, weights: dict[str, Tensor], moments: dict[str, Tensor], processes: Processes
) -> tuple[list[float], list[float]]:
    checkpoints, seconds = Checkpoints(folder, 2), []
    for step in range(1, SAVES + 1):
        processes.wait()
        begin = time.perf_counter()
        checkpoint = Checkpoint(gather(weights, processes), gather(moments, processes), asdict(TrainingState(step)))
        if processes.is_main:
            checkpoints.save_and_prune(step, checkpoint, best_step=1)
        processes.wait()
        seconds.append(time.perf_counter() - begin)
    return seconds, seconds


def _measure_sharded(
    folder: Path, weights: dict[str, Tensor], moments: dict[str, Tensor], processes: Processes
) -> tuple[list[float], list[float]]:
    checkpoints, pauses, totals = ShardedCheckpoints(folder, 2, processes), [], []
    for step in range(1, SAVES + 1):
        processes.wait()
        begin = time.perf_counter()
        checkpoints.save_and_prune(step, Checkpoint(weights, moments, asdict(TrainingState(step))), best_step=1)
        pauses.append(time.perf_counter() - begin)
        checkpoints.wait()
        processes.wait()
        totals.append(time.perf_counter() - begin)
    return pauses, totals


def _tensors(processes: Processes, *, is_sharded: bool) -> dict[str, Tensor]:
    torch.manual_seed(1)
    tensors = {name: torch.randn(shape) for name, shape in SHAPES.items()}
    if not is_sharded:
        return tensors
    mesh = init_device_mesh("cpu", (processes.size,))
    return {
        name: part_of(tensor, zeros(tensor.shape, device_mesh=mesh, placements=[Shard(0)]))
        for name, tensor in tensors.items()
    }


def _figures(seconds: list[float]) -> str:
    first, *others = seconds
    return f"{first:.2f} s at first, then {statistics.median(others):.2f} s"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
