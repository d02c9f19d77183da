from pathlib import Path

import pytest

from sumpool.data.sources.tsv import TsvSourceConfig
from sumpool.errors import DataError


def test_commas_instead_of_tabs_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("text,summary\n")
    with pytest.raises(
        DataError, match=r"separated by '\\t', got one column 'text,summary'; set data\.source\.kind=csv"
    ):
        list(TsvSourceConfig(path=path).rows())
