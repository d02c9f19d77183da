import subprocess
import sys

import pytest

import sumpool

EXPECTED = [
    "CheckpointError",
    "DataError",
    "Interrupted",
    "NonFiniteError",
    "Recipe",
    "RecipeError",
    "ResourceError",
    "Summarizer",
    "SummaryResult",
    "SummarySentence",
    "SumpoolError",
    "dump_recipe",
    "load_recipe",
    "pipeline",
]


def test_all_is_sorted_and_complete() -> None:
    assert sumpool.__all__ == EXPECTED
    assert sorted(sumpool.__all__) == sumpool.__all__
    assert set(EXPECTED) <= set(dir(sumpool))
    assert all(getattr(sumpool, name).__doc__ for name in EXPECTED)


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'sumpool' has no attribute 'Summariser'"):
        sumpool.Summariser  # noqa: B018


def test_import_does_not_load_heavy_modules() -> None:
    code = "import sumpool, sys; print(sorted({'torch', 'numpy', 'yaml', 'rich', 'pydantic'} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"
