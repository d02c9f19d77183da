"""Contract of every source of running text: documents, splits, compression, folders and errors."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet
from pydantic import ValidationError

from sumpool.documents.document import Limits, Reject
from sumpool.errors import DataError
from sumpool.tasks.language_modeling import sources
from sumpool.tasks.language_modeling.sources import TextSourceConfig


def write(path: Path, text: Any) -> Path:  # noqa: ANN401 - rows of texts too
    """Write a text in the layout of the suffix."""
    if path.suffix == ".parquet":
        parquet.write_table(pyarrow.table({"text": [text] if isinstance(text, str) else text}), path)
    else:
        path.write_text(text)
    return path


LAYOUTS = [("plain", ".txt"), ("cc100", ".txt"), ("wiki40b", ".parquet")]


def source(kind: str, **settings: Path) -> TextSourceConfig:
    return TextSourceConfig.model_validate({"kind": kind, **settings})


def texts(config: TextSourceConfig) -> list[str]:
    documents = list(config.documents())
    return [document[1] for document in documents if not isinstance(document, Reject)]


@pytest.mark.parametrize(("kind", "suffix"), LAYOUTS)
def test_every_source_reads_a_file_a_folder_and_files_per_split(kind: str, suffix: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"a{suffix}", "Ein Wort.\nZwei Wörter.")
    assert "".join(texts(source(kind, path=path))).strip() == "Ein Wort.\nZwei Wörter."
    write(tmp_path / f"b{suffix}", "Mehr.")
    (tmp_path / "notes.md").write_text("not a source")
    assert len(list(source(kind, path=tmp_path).files())) == 2
    paths = {split: write(tmp_path / f"{split}{suffix}", split) for split in ("train", "test")}
    assert list(source(kind, **paths).documents()) == [("train", "train"), ("test", "test")]


def test_every_source_names_what_is_missing(tmp_path: Path) -> None:
    for kind, suffix in LAYOUTS:
        with pytest.raises(DataError, match=r"must (be a file that can be read|be a Parquet file), got"):
            texts(source(kind, path=tmp_path / f"none{suffix}"))
        with pytest.raises(DataError, match=r"must name a file, got none; check data\.source\.train"):
            texts(source(kind, train=tmp_path / "*.none"))
        with pytest.raises(ValidationError, match="must have either path, or train with validation and test"):
            source(kind)
        with pytest.raises(ValidationError, match="got path and one of those"):
            source(kind, path=tmp_path, test=tmp_path)


def test_compressed_text_is_read_and_damaged_text_refused(tmp_path: Path) -> None:
    packers: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
    for suffix, pack in packers.items():
        path = tmp_path / f"a.txt{suffix}"
        path.write_bytes(pack("ä".encode() * 1000))
        assert texts(source("plain", path=tmp_path)) == ["ä" * 1000]
        path.write_bytes(path.read_bytes()[:-12])
        with pytest.raises(DataError, match=r"must be complete, got: .* get the file again"):
            texts(source("plain", path=path))
        path.unlink()
    path = tmp_path / "text.txt"
    path.write_bytes(b"a\xffb")
    for kind in ("plain", "cc100"):
        with pytest.raises(DataError, match="must be UTF-8, got byte 0xff; convert it"):
            texts(source(kind, path=path))


def test_documents_of_cc100_end_at_blank_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "fi.txt.xz"
    path.write_bytes(lzma.compress("Yksi.\nKaksi.\n\n\nKolme.\n\n\nNeljä".encode()))
    assert texts(source("cc100", path=path)) == ["Yksi.\nKaksi.\n", "Kolme.\n", "Neljä"]
    monkeypatch.setattr(sources, "DEFAULT_LIMITS", Limits(4))
    with pytest.raises(DataError, match=r"fi\.txt\.xz:1 must have at most 0 MiB of content"):
        texts(source("cc100", path=path))


WIKI = """
_START_ARTICLE_
Kissa
_START_SECTION_
Ulkonäkö
_START_PARAGRAPH_
Kissa on eläin._NEWLINE_Sillä on häntä.
"""


def test_articles_of_wiki40b_lose_their_marks_and_may_be_literals_of_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "train.parquet", [WIKI, repr(WIKI.encode()), "b'\\xff'", "b'unfinished", None])
    *documents, rejected = source("wiki40b", path=path).documents()
    first, second, third, fourth = (document[1] for document in documents if not isinstance(document, Reject))
    assert first == second == "\nKissa\nUlkonäkö\nKissa on eläin.\nSillä on häntä.\n"
    assert (third, fourth) == ("b'\\xff'", "b'unfinished")
    assert isinstance(rejected, Reject)
    parquet.write_table(pyarrow.table({"body": ["x"]}), path)
    with pytest.raises(DataError, match="must have a column 'text'"):
        texts(source("wiki40b", path=path))
