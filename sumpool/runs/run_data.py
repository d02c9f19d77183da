"""Prepared data of an existing run."""

from pathlib import Path

from sumpool.data.prepared_folder import find_by_content
from sumpool.errors import CheckpointError
from sumpool.io.manifest import Manifest
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe


def prepared_data_of(run: Path, recipe: Recipe) -> Path:
    """Return the folder with the prepared data of a run; it may be missing.

    The folder in the recipe is taken if it exists or the caller has named it; otherwise a folder beside it with the
    content that the run was trained on, whatever its name.

    Args:
        run: The run folder.
        recipe: Its recipe, with the overrides of the caller.
    """
    folder = recipe.prepared_folder
    if recipe.data.prepared and (folder.is_dir() or recipe.data.prepared != load_recipe(run).data.prepared):
        return folder
    try:
        digest = Manifest.read(run).facts.get("data")
    except CheckpointError:
        return folder  # loading the run reports the damage
    return (find_by_content(digest, folder.parent) if digest else None) or folder
