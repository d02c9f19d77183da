"""Files that other programs read: packaging, citation, forms and workflows of the public repository."""

import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml

import sumpool
from sumpool import __version__

ERRORS = ("CheckpointError", "DataError", "Interrupted", "NonFiniteError", "RecipeError", "ResourceError")
OTHERS = (
    "Recipe",
    "Summarizer",
    "Summary",
    "SummarySentence",
    "SumpoolError",
    "dump_recipe",
    "load_recipe",
    "pipeline",
)


def test_all_is_sorted_and_complete() -> None:
    assert sumpool.__all__ == sorted((*ERRORS, *OTHERS))
    assert set(sumpool.__all__) <= set(dir(sumpool))
    assert all(getattr(sumpool, name).__doc__ for name in sumpool.__all__)
    with pytest.raises(AttributeError, match="module 'sumpool' has no attribute 'Summariser'"):
        sumpool.Summariser  # noqa: B018


def test_import_does_not_load_heavy_modules() -> None:
    code = "import sumpool, sys; print(sorted({'torch', 'numpy', 'yaml', 'rich', 'pydantic'} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_licences_exist_and_the_citation_is_of_this_version() -> None:
    assert {"sumpool/data/sample/NOTICE", "sumpool/shipped/NOTICE"} <= set(PROJECT["license-files"])
    assert all((ROOT / path).is_file() for path in PROJECT["license-files"])
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == __version__
    assert citation["license"] == PROJECT["license"]
    assert {"message", "title", "authors"} <= set(citation)


def test_every_dependency_has_a_tested_version() -> None:
    tested = {
        name.lower().replace("_", "-") for name in re.findall(r"^([\w-]+)==", CONSTRAINTS.read_text(), re.MULTILINE)
    }
    needed = [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]
    names = {re.split(r"[\[<>=; ]", line)[0].lower().replace("_", "-") for line in needed}
    assert names - {"sumpool"} <= tested
