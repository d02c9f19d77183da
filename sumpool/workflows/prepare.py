"""`sumpool prepare`: from a source of documents to data that a model can be trained on."""

import signal
from pathlib import Path

from sumpool.data import prepare as data
from sumpool.data.report import DataReport
from sumpool.errors import Interrupted
from sumpool.interruption import interruptible
from sumpool.progress import Report, silent
from sumpool.recipe.schema import Recipe


def prepare(recipe: Recipe, *, skip_bad_rows: bool = False, report: Report = silent) -> tuple[Path, DataReport]:
    """Prepare the data of a recipe, unless that is done.

    1. Read every row of the source into the texts of its split.
    2. Learn the vocabulary, or take one over, and the ends of sentences from the training split.
    3. Turn every text into ids, and count what the report shows.
    4. Move the finished folder into place.

    Args:
        recipe: What to prepare; only its `data` section matters.
        skip_bad_rows: Leave out rows that cannot be used and list them, instead of stopping at the first.
        report: Told of progress.

    Returns:
        The prepared folder and the data report.

    Raises:
        DataError: If a row cannot be used, there is nothing to train on, the folder holds something else, or the
            tokenizer that is taken over is none.
        RecipeError: If that has another number of pieces than the recipe says.
        ResourceError: If memory or disk run out.
        Interrupted: If a signal came; nothing half made is left.
    """
    folder = recipe.prepared_folder
    with interruptible() as interruption:
        try:
            found = data.prepare(
                recipe.data, folder, skip_bad_rows=skip_bad_rows, report=report, check=interruption.check
            )
        except Interrupted as stop:
            name = signal.Signals(stop.number).name
            raise Interrupted(stop.number, f"stopped by {name}; nothing was prepared, so prepare begins anew") from stop
    return folder, found
