"""Attentions of the comparison: settings of the published runs, and published accuracies.

Settings are those of the released configurations, 128 features, landmarks or columns. Published accuracies are of two
papers that differ in batch sizes and numbers of updates, so that their columns cannot be compared with each other:
Skeinformer (Chen et al., 2022) and Skyformer (Chen et al., 2021), table "Classification accuracy on LRA" of each.
"""

from collections.abc import Mapping
from typing import Any

from sumpool.errors import RecipeError
from sumpool.settings import kinds

ATTENTIONS: Mapping[str, Mapping[str, Any]] = {
    "bigbird": {"block": 64, "random_blocks": 3},
    "linformer": {"rank": 128},
    "lsh": {"hashes": 2, "local_heads": 0},
    "nystrom": {"landmarks": 128},
    "performer": {"features": 128},
    "skyformer": {"landmarks": 128},
}
"""Settings of an attention that differ from its defaults."""
_TASKS = ("text", "listops", "retrieval", "pathfinder32", "image")
_SKEINFORMER = {
    "vanilla": (57.69, 38.15, 80.10, 73.59, 37.97),
    "v_mean": (65.29, 28.78, 80.49, 61.01, 34.33),
    "bigbird": (61.91, 38.86, 79.73, 71.75, 35.00),
    "performer": (57.67, 37.70, 75.69, 56.50, 37.40),
    "nystrom": (60.91, 37.76, 79.87, 72.53, 31.93),
    "lsh": (62.69, 37.94, 78.85, 69.21, 36.42),
    "linformer": (58.52, 37.97, 77.40, 55.57, 37.48),
    "informer": (61.55, 38.43, 80.88, 59.34, 36.55),
    "skeinformer": (62.47, 38.73, 80.42, 71.51, 37.27),
}
_SKYFORMER = {
    "vanilla": (61.95, 38.37, 80.69, 65.26, 40.57),
    "kernelized": (60.22, 38.78, 81.77, 70.73, 41.29),
    "nystrom": (64.83, 38.51, 80.52, 69.48, 41.30),
    "linformer": (58.93, 37.45, 78.19, 60.93, 37.96),
    "informer": (62.64, 32.53, 77.57, 57.83, 38.10),
    "performer": (64.19, 38.02, 80.04, 66.30, 41.43),
    "lsh": (62.93, 37.68, 78.99, 66.49, 48.87),
    "bigbird": (63.86, 39.25, 80.28, 68.72, 43.16),
    "skyformer": (64.70, 38.69, 82.06, 70.73, 40.77),
}


def published(task: str, kind: str) -> dict[str, float | None]:
    """Return the published accuracies of an attention on a task, from 0 to 100; None where there is none."""
    tables = {"skeinformer": _SKEINFORMER, "skyformer": _SKYFORMER}
    place = _TASKS.index(task) if task in _TASKS else None
    return {
        f"published_{name}": table[kind][place] if place is not None and kind in table else None
        for name, table in tables.items()
    }


def attention_settings(kind: str, length: int) -> dict[str, Any]:
    """Return the settings of an attention for documents of a length, as in a recipe.

    Raises:
        RecipeError: If there is no such attention.
    """
    names = kinds("sumpool.core.attention")
    if kind not in names:
        raise RecipeError(f"bench.attentions must be names of attentions ({', '.join(names)}), got {kind}")
    return {"kind": kind, **ATTENTIONS.get(kind, {}), **({"length": length} if kind in _FIXED_LENGTH else {})}


_FIXED_LENGTH = ("linformer", "synthesizer")
"""Attentions with parameters for each position."""
