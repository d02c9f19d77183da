"""Choice of a run folder, without loading anything of it."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from sumpool.errors import CheckpointError
from sumpool.io.bounded import read_regular
from sumpool.io.manifest import MODEL

RUNS = Path("runs")
"""Default folder of run folders."""

SHIPPED = Path(str(files("sumpool").joinpath("shipped")))
"""Run folder of the shipped model, trained by recipes/default.yaml."""

ADVICE = "run `sumpool train quickstart`, or with a recipe of your own, or name a run with --model"
"""What to do without a model, for error messages."""
_DEFAULT = "summarization"
"""Task of a recipe that names none."""


def default_model(runs: Path) -> Path:
    """Return the newest run, or the shipped model if there is none."""
    models = _models(runs, _DEFAULT)
    return _newest(models) if models else SHIPPED


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
        return _task_in(read_regular(run / "recipe.yaml"))
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
            f"{run} must be a run of task: {task}, got task: {other}, for sumpool {command_of(other)} and evaluate only"
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
