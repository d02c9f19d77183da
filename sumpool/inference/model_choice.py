"""Choice of the run folder that summarises, without loading anything of it."""

from importlib.resources import files
from pathlib import Path

from sumpool.errors import CheckpointError
from sumpool.training.config import MODEL

RUNS = Path("runs")
"""Default folder of run folders."""

SHIPPED = Path(str(files("sumpool").joinpath("shipped")))
"""Run folder of the shipped model, trained by recipes/default.yaml."""

ADVICE = "run `sumpool train quickstart`, or with a recipe of your own, or name a run with --model"
"""What to do without a model, for error messages."""


def default_model(runs: Path) -> Path:
    """Return the newest run, or the shipped model if there is none."""
    try:
        return newest_run(runs)
    except CheckpointError:
        return SHIPPED


def newest_run(runs: Path) -> Path:
    """Return the run folder whose model was saved last.

    Raises:
        CheckpointError: If there is none.
    """
    models = [path for path in runs.glob(f"*/{MODEL}") if (path.parent / "recipe.yaml").is_file()]
    if not models:
        raise CheckpointError(f"{runs.absolute()} must hold a trained model, got none; {ADVICE}")
    return max(models, key=lambda path: (path.stat().st_mtime_ns, path)).parent
