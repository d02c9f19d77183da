"""`sumpool prepare`: a source of documents in, prepared data for training out."""

from pathlib import Path

from sumpool.corpora.cluster import LOG, Cluster, require_ray
from sumpool.corpora.ordered import map_on_cluster
from sumpool.data.prepared_folder import find_or_prepare
from sumpool.data.report import DataReport
from sumpool.data.text_prepare import find_or_prepare_text
from sumpool.data.text_report import TextReport
from sumpool.progress import Check, Report, no_op, told_when_stopped
from sumpool.recipe.language_model import LanguageModelRecipe
from sumpool.recipe.schema import Recipe


def prepare(
    recipe: Recipe, *, skip_bad_rows: bool = False, report: Report = no_op, check: Check = no_op
) -> tuple[Path, DataReport]:
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
    # Read the source, train tokenizer and sentence splitter, encode every document, move the folder into place.
    with told_when_stopped("nothing was prepared, so prepare begins anew"):
        return find_or_prepare(
            recipe.data, recipe.prepared_folder, skip_bad_rows=skip_bad_rows, report=report, check=check
        )


def prepare_on_ray(
    recipe: Recipe,
    *,
    address: str,
    workers: int | None = None,
    skip_bad_rows: bool = False,
    report: Report = no_op,
    check: Check = no_op,
) -> tuple[Path, DataReport]:
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
        RecipeError: As `prepare`, or if Ray is not installed.
        ResourceError: If memory or disk runs out, or the cluster cannot be reached.
        Interrupted: If a signal came; nothing incomplete is left.
    """
    require_ray()
    # What Ray prints is kept beside the folder, which holds nothing but data, until the folder is complete.
    preferred = (recipe.data.prepared or recipe.prepared_folder).resolve()
    log = preferred.with_name(f".{preferred.name}.{LOG}")
    with told_when_stopped("nothing was prepared, so prepare begins anew"):
        prepared = find_or_prepare(
            recipe.data,
            recipe.prepared_folder,
            skip_bad_rows=skip_bad_rows,
            report=report,
            check=check,
            execute=map_on_cluster(Cluster(address, workers, log), report),
        )
    log.unlink(missing_ok=True)
    return prepared


def prepare_running_text(
    recipe: LanguageModelRecipe, *, skip_bad_rows: bool = False, report: Report = no_op, check: Check = no_op
) -> tuple[Path, TextReport]:
    """Prepare the running text of a language model's recipe, unless equal data has been prepared.

    Args:
        recipe: The recipe, of which only the `data` section is read.
        skip_bad_rows: Whether to count rows that cannot be used and go on, instead of stopping at the first.
        report: Called with progress.
        check: Called where the work may stop.

    Returns:
        The prepared folder and its report.

    Raises:
        DataError: If a row cannot be used, a split has no text, or `data.tokenizer` holds no tokenizer.
        RecipeError: If the folder holds something else.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal came; nothing incomplete is left.
    """
    # Read and normalise the text, make the vocabulary, encode the text as one stream per split.
    with told_when_stopped("nothing was prepared, so prepare begins anew"):
        return find_or_prepare_text(
            recipe.data, recipe.prepared_folder, skip_bad_rows=skip_bad_rows, report=report, check=check
        )
