"""Train and run summarisers for long documents, from scratch on your own data.

The names in `__all__` are the public API. Modules that are slow to import are loaded on first access.
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
    from sumpool.inference.hf_pipeline import pipeline
    from sumpool.inference.summarizer import Summarizer
    from sumpool.inference.summary import Summary, SummarySentence
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
    "Summarizer",
    "Summary",
    "SummarySentence",
    "SumpoolError",
    "dump_recipe",
    "load_recipe",
    "pipeline",
]

_LAZY_IMPORTS = {
    "Recipe": "sumpool.recipe.schema",
    "Summarizer": "sumpool.inference.summarizer",
    "Summary": "sumpool.inference.summary",
    "SummarySentence": "sumpool.inference.summary",
    "dump_recipe": "sumpool.recipe.load",
    "load_recipe": "sumpool.recipe.load",
    "pipeline": "sumpool.inference.hf_pipeline",
}
"""Modules imported on first access, by public name."""


def __getattr__(name: str) -> object:
    if name not in _LAZY_IMPORTS:
        raise AttributeError(f"module 'sumpool' has no attribute {name!r}")
    return getattr(import_module(_LAZY_IMPORTS[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY_IMPORTS])
