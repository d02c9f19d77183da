"""Files that other programs read: packaging, citation, forms and workflows of the public repository."""

import tomllib
from pathlib import Path

import yaml

from sumpool import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_licences_of_the_wheel_exist_and_cover_the_sample() -> None:
    assert "sumpool/data/sample/NOTICE" in PROJECT["license-files"]
    assert all((ROOT / path).is_file() for path in PROJECT["license-files"])


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == __version__
    assert citation["license"] == PROJECT["license"]
    assert {"message", "title", "authors"} <= set(citation)
