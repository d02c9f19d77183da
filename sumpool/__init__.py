"""sumpool learns to summarise long documents from your own data, from nothing.

These names are what other programs may rely on; whatever takes time to import comes when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from sumpool.errors import (
    CheckpointError,
    DataError,
    Interrupted,
    NonFiniteError,
    RecipeError,
    ResourceError,
    SumpoolError,
)

if TYPE_CHECKING:
    from sumpool.recipe.load import dump_recipe, load_recipe
    from sumpool.recipe.schema import Recipe

__version__ = "0.1.0"

__all__ = [
    "CheckpointError",
    "DataError",
    "Interrupted",
    "NonFiniteError",
    "Recipe",
    "RecipeError",
    "ResourceError",
    "SumpoolError",
    "dump_recipe",
    "load_recipe",
]

_LATER = {
    "Recipe": "sumpool.recipe.schema",
    "dump_recipe": "sumpool.recipe.load",
    "load_recipe": "sumpool.recipe.load",
}
"""Modules by the public names that they hold; imported when the name is used."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'sumpool' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])
