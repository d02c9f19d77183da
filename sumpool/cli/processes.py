"""`sumpool train` in several processes: their start, and their output."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from sumpool.cli.console import Log
from sumpool.errors import RecipeError
from sumpool.training.launch import launched_processes

MOST_PROCESSES = 1024
"""Processes of one machine at most."""


def is_launched() -> bool:
    """Return whether this process is one of several that torchrun has started."""
    return launched_processes() > 1


def is_main_process() -> bool:
    """Return whether this process is the one whose output is shown."""
    return (os.environ.get("RANK") or "0") == "0"


def train_in_processes(devices: int, recipe: Path, changes: Sequence[str], out: Path | None, *, dry_run: bool) -> None:
    """Check the recipe, then start the processes of a training, or send the output of one of them to its log.

    Args:
        devices: Processes to start, unless this is one of them.
        recipe: The recipe.
        changes: Changes of settings.
        out: The run folder; that of the recipe by default.
        dry_run: Whether nothing is trained, for which one process is enough.

    Raises:
        RecipeError: If the recipe is wrong, or what it asks for takes one process.
        ResourceError: If processes are killed again and again.
        SystemExit: If the processes have ended with an error, with its exit code.
    """
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # for warnings about parameters without gradients
    from sumpool.recipe.sweep import LoadedSweep, load_recipe_or_sweep

    loaded = load_recipe_or_sweep(recipe, changes)
    if dry_run or isinstance(loaded, LoadedSweep):
        work = "a dry run" if dry_run else "a sweep"
        raise RecipeError(f"{work} must take one process, got several: leave out --devices or torchrun")
    from sumpool.inference.model_choice import RUNS
    from sumpool.runs.run_folder import LOGS, require_run_folder

    run = out or RUNS / loaded.name
    require_run_folder(run)
    if not is_launched():
        from sumpool.training.launch import launch

        status = launch(devices, sys.argv[1:], Log().report)
        if status:
            sys.exit(status)
    elif not is_main_process():
        _redirect_output(run / LOGS / f"rank-{int(os.environ['RANK'])}.log")


def _redirect_output(path: Path) -> None:
    """Append the output of this process to a file."""
    from sumpool.io.atomic import disk_errors

    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
                os.dup2(file.fileno(), stream.fileno())
