"""Choice of a run folder, without loading anything of it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sumpool.errors import CheckpointError
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.bounded import read_regular
from sumpool.io.manifest import MODEL, SHIPPED, run_folder, run_name

RECIPE: Final = "recipe.yaml"
RUNS = Path("runs")
"""Default folder of run folders."""

USED = ".used"
"""File in the folder of run folders with the path of the run that summarises by default, relative to it."""

ADVICE = "run `sumpool train quickstart`, or with a recipe of your own, or name a run with --model"
"""What to do without a model, for error messages."""
_DEFAULT = "summarization"
"""Task of a recipe that names none."""


def choose_model(run: Path | None = None, runs: Path = RUNS) -> Path:
    """Return the folder of the model that summarises.

    Args:
        run: A run folder, or `shipped`; None takes the run that `sumpool use` has marked, else the shipped model.
        runs: Folder with the mark.

    Raises:
        CheckpointError: If the marked run is gone.
    """
    if run is not None:
        return run_folder(run)
    try:
        marked = runs / read_regular(runs / USED).decode(errors="replace").strip()
    except OSError:
        return SHIPPED
    if not (marked / MODEL).is_file():
        raise CheckpointError(
            f"{runs / USED} must name a run folder with {MODEL}, got {marked}; run `sumpool use shipped`, or name a "
            "run with --model"
        )
    return Path(os.path.normpath(marked))


def use_model(run: Path, runs: Path = RUNS) -> None:
    """Mark the run that summarises by default; the shipped model removes the mark.

    Raises:
        CheckpointError: If the folder is not a run with a model of summaries.
    """
    folder = run_folder(run)
    if folder == SHIPPED:
        (runs / USED).unlink(missing_ok=True)
        return
    if not (folder / MODEL).is_file() or not (folder / RECIPE).is_file():
        raise CheckpointError(f"{run} must be a run folder with {RECIPE} and {MODEL}, got none; {ADVICE}")
    require_task(folder, read_regular(folder / RECIPE), _DEFAULT)
    with disk_errors(runs):
        runs.mkdir(parents=True, exist_ok=True)
        replace_file(runs / USED, f"{os.path.relpath(folder, runs)}\n".encode())


def describe_choice(run: Path | None = None, runs: Path = RUNS) -> str:
    """Return the name of the model that summarises, and why it is taken where none is named."""
    name = run_name(choose_model(run, runs))
    if run is not None:
        return name
    if (runs / USED).exists():
        return f"{name} (marked by `sumpool use`)"
    models = _models(runs, _DEFAULT)
    return f"{name} (take {_newest(models)} by --model or `sumpool use`)" if models else f"{name} (no run in {runs})"


def newest_run(runs: Path, task: str = _DEFAULT) -> Path:
    """Return the run folder of a task whose model was saved last.

    Raises:
        CheckpointError: If there is none.
    """
    models = _models(runs, task)
    if not models:
        from sumpool.recipe.task import find_task  # as nothing but errors needs it

        kind, advice = find_task(task).kind, find_task(task).advice
        raise CheckpointError(f"{runs.absolute()} must hold a trained {kind}, got none; {advice}")
    return _newest(models)


def _models(runs: Path, task: str) -> list[Path]:
    return [path for path in runs.glob(f"*/{MODEL}") if task_of(path.parent) == task]


def task_of(run: Path) -> str:
    """Return the task of a run by its recipe, which is not validated; empty without a recipe."""
    try:
        return _task_in(read_regular(run / RECIPE))
    except OSError:
        return ""


def require_task(run: Path, recipe: bytes, task: str) -> None:
    """Check the task of a run.

    Args:
        run: The run folder.
        recipe: Its recipe, which is not validated.
        task: The task.

    Raises:
        CheckpointError: If it is another one.
    """
    other = _task_in(recipe)
    if other != task:
        from sumpool.recipe.task import command_of  # as nothing but errors needs it

        raise CheckpointError(
            f"{run_name(run)} must be a run of task: {task}, got task: {other}, for sumpool {command_of(other)} and "
            "evaluate only"
        )


def _task_in(recipe: bytes) -> str:
    named = (line.removeprefix(b"task:").strip() for line in recipe.splitlines() if line.startswith(b"task:"))
    return next(named, _DEFAULT.encode()).decode(errors="replace")


def newest_of_all(runs: Path) -> Path:
    """Return the run folder of any task whose model was saved last, or the shipped model if there is none."""
    models = [path for path in runs.glob(f"*/{MODEL}") if task_of(path.parent)]
    return _newest(models) if models else SHIPPED


def _newest(models: Sequence[Path]) -> Path:
    return max(models, key=lambda path: (path.stat().st_mtime_ns, path)).parent
