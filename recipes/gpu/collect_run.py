"""Make a run folder from the results of packed training.

python recipes/gpu/collect_run.py gpu-pack OUT runs/gpu
sumpool summarize --model runs/gpu document.txt
"""

import argparse
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import safetensors.torch
import torch
from packed import begin_run

from sumpool.errors import CheckpointError
from sumpool.runs.run_folder import require_new
from sumpool.training.journal import JOURNAL
from sumpool.training.weights import export

_MAX_BYTES = 15 * 2**20
"""Bytes of tensors of a file of weights."""


def main(argv: Sequence[str] | None = None) -> None:
    """Make the run folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack", type=Path, help="folder that pack.py wrote")
    parser.add_argument("results", type=Path, help="folder that train_packed.py wrote")
    parser.add_argument("run", type=Path, help="run folder to make")
    arguments = parser.parse_args(argv)
    collect(arguments.pack, arguments.results, arguments.run)


def collect(pack: Path, results: Path, run: Path) -> None:
    """Make a run folder of the newest stage of the results.

    Raises:
        RecipeError: If the run folder is not new or empty.
        CheckpointError: If the results have no weights.
    """
    require_new(run)
    weights = read_weight_parts(results)
    result = json.loads((results / "result.json").read_text())
    begin_run(run, pack / result["stage"])
    facts = {"step": result["step"], "validation_loss": result["validation_loss"], "device": result["device"]}
    export(run, weights, {name: value for name, value in facts.items() if value is not None})
    metrics = results / f"metrics-{result['stage']}.jsonl"
    if metrics.is_file():
        shutil.copyfile(metrics, run / JOURNAL)


def write_weight_parts(weights: Mapping[str, torch.Tensor], folder: Path) -> None:
    """Write weights in bf16 to files of at most 15 MiB; a larger tensor is a file of its own."""
    for old in folder.glob("weights-*.safetensors"):
        old.unlink()
    parts: list[dict[str, torch.Tensor]] = []
    size = _MAX_BYTES + 1
    for name, tensor in weights.items():
        rounded = tensor.detach().to("cpu", torch.bfloat16 if tensor.is_floating_point() else tensor.dtype).contiguous()
        if size + rounded.nbytes > _MAX_BYTES:
            parts.append({})
            size = 0
        parts[-1][name] = rounded
        size += rounded.nbytes
    for number, part in enumerate(parts, 1):
        safetensors.torch.save_file(part, folder / f"weights-{number}.safetensors")


def read_weight_parts(folder: Path) -> dict[str, torch.Tensor]:
    """Read weights that `write_weight_parts` wrote, in single precision.

    Raises:
        CheckpointError: If there are none.
    """
    weights: dict[str, torch.Tensor] = {}
    for path in sorted(folder.glob("weights-*.safetensors")):
        weights |= safetensors.torch.load_file(path)
    if not weights:
        raise CheckpointError(f"{folder} must hold weights-1.safetensors, got none: copy all results back")
    return {name: tensor.float() if tensor.dtype == torch.bfloat16 else tensor for name, tensor in weights.items()}


if __name__ == "__main__":
    main()
