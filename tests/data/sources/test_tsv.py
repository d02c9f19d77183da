from pathlib import Path

import pytest

from sumpool.data.sources._base import Example
from sumpool.data.sources.tsv import TsvSourceConfig
from sumpool.errors import DataError


def test_cells_are_separated_by_tabs(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text('id\ttext\tsummary\n1\tOne, two; three.\t"A ""b""\tc"\n')
    assert list(TsvSourceConfig(train=path).rows()) == [Example("1", "One, two; three.", 'A "b"\tc', "train")]


def test_quotes_can_be_plain_text(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text('id\ttext\tsummary\n1\t"One," he said.\tShort.\n')
    rows = list(TsvSourceConfig(train=path, quotes=False).rows())
    assert rows == [Example("1", '"One," he said.', "Short.", "train")]


def test_commas_instead_of_tabs_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("text,summary\n")
    with pytest.raises(
        DataError, match=r"separated by '\\t', got one column 'text,summary'; set data\.source\.kind=csv"
    ):
        list(TsvSourceConfig(path=path).rows())
