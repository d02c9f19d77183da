"""Run folder of a training: locked and opened by the first of its processes for all."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from sumpool.progress import Progress, Report
from sumpool.recipe.language_model import AnyRecipe
from sumpool.runs.run_folder import claim, exclusive, is_finished, open_run
from sumpool.runs.training_notes import extension_note
from sumpool.training.processes import Processes


@contextmanager
def opened(run: Path, recipe: AnyRecipe, prepared: Path, processes: Processes, report: Report) -> Iterator[bool]:
    """Lock a run folder for the duration of a block, and begin or open its run.

    Args:
        run: The folder.
        recipe: The recipe.
        prepared: Folder of the prepared data.
        processes: The processes of the training, of which the first one opens the folder.
        report: Receives a note if a finished run continues to a later end.

    Yields:
        Whether the run has ended.

    Raises:
        RecipeError: If the folder holds something else, or the run of another recipe.
        DataError: If it holds a run with other data.
        CheckpointError: If it is damaged, or another process holds the lock.
        ResourceError: If the disk is full or fails.
    """
    if processes.is_main:
        claim(run)
    with exclusive(run) if processes.is_main else nullcontext():
        yield processes.from_main(lambda: _open(run, recipe, prepared, report))


def _open(run: Path, recipe: AnyRecipe, prepared: Path, report: Report) -> bool:
    note = extension_note(run, recipe)
    data = recipe.data.model_copy(update={"prepared": prepared, "verify": False})
    finished = is_finished(open_run(run, recipe.model_copy(update={"data": data}), prepared), recipe)
    if note and not finished:
        report(Progress("train", note=note))
    return finished
