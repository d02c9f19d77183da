from pathlib import Path

import pytest

from sumpool.data.config import Example, Reject
from sumpool.data.sources import FolderSourceConfig
from sumpool.errors import DataError


def write(folder: Path, name: str, content: str | bytes = "Text.") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def test_pairs_are_read_in_order_and_split_by_folder_or_name(tmp_path: Path) -> None:
    for stem in ("b", "a", "test/c", "validation/deep/d"):
        write(tmp_path, f"{stem}.txt", f"Document {stem}.")
        write(tmp_path, f"{stem}.summary.txt", f"Summary {stem}.")
    config = FolderSourceConfig(path=tmp_path, validation_share=0, test_share=0)
    assert list(config.rows()) == [
        Example("a", "Document a.", "Summary a.", "train"),
        Example("b", "Document b.", "Summary b.", "train"),
        Example("test/c", "Document test/c.", "Summary test/c.", "test"),
        Example("validation/deep/d", "Document validation/deep/d.", "Summary validation/deep/d.", "validation"),
    ]


@pytest.mark.parametrize(
    ("files", "where", "reason"),
    [
        ({"a.txt": "x"}, "a", "must have both .txt and .summary.txt, got no a.summary.txt"),
        ({"a.summary.txt": "x"}, "a", "must have both .txt and .summary.txt, got no a.txt"),
        ({"a.txt": " ", "a.summary.txt": "x"}, "a.txt", "must contain text, got an empty file"),
        ({"a.txt": "x", "a.summary.txt": b"\xff"}, "a.summary.txt", "must be UTF-8, got byte 0xff at position 0"),
    ],
)
def test_invalid_pair_is_rejected_once(tmp_path: Path, files: dict[str, str | bytes], where: str, reason: str) -> None:
    for name, content in files.items():
        write(tmp_path, name, content)
    (row,) = FolderSourceConfig(path=tmp_path).rows()
    assert isinstance(row, Reject)
    assert row.where == str(tmp_path / where)
    assert reason in row.reason


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none must be a folder with x\.txt and x\.summary\.txt files"):
        list(FolderSourceConfig(path=tmp_path / "none").rows())
