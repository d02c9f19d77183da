"""`sumpool prepare`: a source in, prepared data for training out."""

from pathlib import Path

from sumpool.data.report import PreparedReport
from sumpool.progress import Check, Report, no_op, told_when_stopped
from sumpool.recipe.schema import BaseRecipe
from sumpool.recipe.task import find_task


def prepare(
    recipe: BaseRecipe, *, skip_bad_rows: bool = False, report: Report = no_op, check: Check = no_op
) -> tuple[Path, PreparedReport]:
    """Prepare the data of a recipe, unless equal data has been prepared, also for another recipe.

    Args:
        recipe: The recipe, of which only the `data` section is read.
        skip_bad_rows: Whether to list rows that cannot be used and go on, instead of stopping at the first.
        report: Called with progress.
        check: Called where the work may stop.

    Returns:
        The prepared folder and the data report.

    Raises:
        DataError: If a row cannot be used, no documents are left to train on, or the tokenizer of `data.tokenizer` is
            missing or damaged.
        RecipeError: If the folder holds something else, or the tokenizer has another vocabulary size than the recipe.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal came; nothing incomplete is left.
    """
    with told_when_stopped("nothing was prepared, so prepare begins anew"):
        return find_task(recipe.task).prepare(recipe, skip_bad_rows=skip_bad_rows, report=report, check=check)
