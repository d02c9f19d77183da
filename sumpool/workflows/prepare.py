"""`sumpool prepare`: a source in, prepared data for training out."""

from pathlib import Path

from sumpool.corpora.cluster import LOG, Cluster, require_ray
from sumpool.corpora.ordered import map_on_cluster
from sumpool.data.report import PreparedReport
from sumpool.progress import Check, Report, no_op, told_when_stopped
from sumpool.recipe.schema import BaseRecipe
from sumpool.recipe.task import find_task

_STOPPED = "nothing was prepared, so prepare begins anew"


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
    with told_when_stopped(_STOPPED):
        return find_task(recipe.task).prepare(recipe, skip_bad_rows=skip_bad_rows, report=report, check=check)


def prepare_on_ray(
    recipe: BaseRecipe,
    *,
    address: str,
    workers: int | None = None,
    skip_bad_rows: bool = False,
    report: Report = no_op,
    check: Check = no_op,
) -> tuple[Path, PreparedReport]:
    """Prepare the data of a recipe as `prepare` does, byte by byte, with the documents encoded on a Ray cluster.

    Args:
        recipe: The recipe, whose folder of prepared data is under the same path on all machines.
        address: "local", or the address of a cluster.
        workers: Processes that encode; None takes one per core.
        skip_bad_rows: Whether to list rows that cannot be used and go on, instead of stopping at the first.
        report: Called with progress.
        check: Called where the work may stop.

    Returns:
        The prepared folder and the data report.

    Raises:
        DataError: As `prepare`, or if a part had to be given up.
        RecipeError: As `prepare`, or if Ray is not installed, or the task is not prepared in parallel.
        ResourceError: If memory or disk runs out, or the cluster cannot be reached.
        Interrupted: If a signal came; nothing incomplete is left.
    """
    require_ray()
    # What Ray prints is kept beside the folder, which holds nothing but data, until the folder is complete.
    preferred = recipe.prepared_folder.resolve()
    log = preferred.with_name(f".{preferred.name}.{LOG}")
    execute = map_on_cluster(Cluster(address, workers, log), report)
    with told_when_stopped(_STOPPED):
        prepared = find_task(recipe.task).prepare(
            recipe, skip_bad_rows=skip_bad_rows, report=report, check=check, execute=execute
        )
    log.unlink(missing_ok=True)
    return prepared
