"""Prepared data of an existing run, verified before it is read."""

from pathlib import Path

from sumpool.data.prepared_folder import find_by_content
from sumpool.data.verified_data import verify_prepared
from sumpool.errors import CheckpointError, DataError
from sumpool.io.manifest import Manifest
from sumpool.progress import Check, no_op
from sumpool.recipe.language_model import AnyRecipe, load_any_recipe


def prepared_data_of(run: Path, recipe: AnyRecipe, check: Check = no_op) -> Path:
    """Return the folder with the prepared data of a run after verifying its files.

    The folder in the recipe is taken if it exists or the caller has named it; otherwise a folder beside it with the
    content that the run was trained on, whatever its name.

    Args:
        run: The run folder.
        recipe: Its recipe, with the overrides of the caller.
        check: Called while files are hashed.

    Raises:
        DataError: If the folder is missing or no prepared data, or a file in it is damaged.
    """
    folder = _find(run, recipe)
    if not folder.is_dir():
        raise DataError(
            f"{folder} must be the prepared data of {run}, but there is no such folder; run sumpool prepare, or name "
            "it with --set data.prepared=FOLDER"
        )
    verify_prepared(folder, full=recipe.data.verify, check=check)
    return folder


def _find(run: Path, recipe: AnyRecipe) -> Path:
    """Return the folder with the prepared data of a run; it may be missing."""
    folder = recipe.prepared_folder
    if recipe.data.prepared and (folder.is_dir() or recipe.data.prepared != load_any_recipe(run).data.prepared):
        return folder
    try:
        digest = Manifest.read(run).facts.get("data")
    except CheckpointError:
        return folder  # loading the run reports the damage
    return (find_by_content(digest, folder.parent) if digest else None) or folder
