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
    "SumpoolError",
    "dump_recipe",
    "load_recipe",
]


def test_public_names_are_a_closed_and_sorted_list() -> None:
    assert sumpool.__all__ == EXPECTED
    assert sorted(sumpool.__all__) == sumpool.__all__
    assert set(EXPECTED) <= set(dir(sumpool))


@pytest.mark.parametrize("name", EXPECTED)
def test_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(sumpool, name).__doc__


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'sumpool' has no attribute 'Summariser'"):
        sumpool.Summariser  # noqa: B018


def test_import_is_light() -> None:
    code = "import sumpool, sys; print(sorted({'torch', 'numpy', 'yaml', 'rich', 'pydantic'} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"
