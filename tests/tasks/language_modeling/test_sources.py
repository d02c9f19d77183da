"""Contract of every source of running text: chunks, splits, compression, folders and errors."""

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from sumpool.documents.document import Limits, Reject
from sumpool.errors import DataError
from sumpool.tasks.language_modeling import sources
from sumpool.tasks.language_modeling.sources import TextChunk, TextSourceConfig

pytestmark = pytest.mark.slow


def write(path: Path, text: str) -> Path:
    """Write a text in the layout of the suffix."""
    match path.suffix:
        case ".jsonl":
            path.write_text(json.dumps({"text": text}) + "\n")
        case ".parquet":
            arrow = pytest.importorskip("pyarrow")
            parquet = pytest.importorskip("pyarrow.parquet")
            parquet.write_table(arrow.table({"text": [text]}), path)
        case _:
            path.write_text(text)
    return path


LAYOUTS = [*((kind, ".txt") for kind in ("plain", "cc100", "wiki40b")), ("wiki40b", ".jsonl"), ("wiki40b", ".parquet")]


def source(kind: str, **settings: Path) -> TextSourceConfig:
    return TextSourceConfig.model_validate({"kind": kind, **settings})


def texts(config: TextSourceConfig, *, strict: bool = True) -> dict[str, str]:
    joined: dict[str, str] = {}
    for chunk in config.chunks(strict=strict):
        assert isinstance(chunk, TextChunk), chunk
        joined[chunk.document] = joined.get(chunk.document, "") + chunk.text
    return joined


@pytest.mark.parametrize(("kind", "suffix"), LAYOUTS)
def test_every_source_reads_a_file_and_a_folder(kind: str, suffix: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"a{suffix}", "Ein Wort.\nZwei Wörter.")
    assert "".join(texts(source(kind, path=path)).values()).strip() == "Ein Wort.\nZwei Wörter."
    write(tmp_path / f"b{suffix}", "Mehr.")
    (tmp_path / "notes.md").write_text("not a source")
    assert len(list(source(kind, path=tmp_path).files())) == 2


@pytest.mark.parametrize(("kind", "suffix"), LAYOUTS)
def test_every_source_has_files_per_split(kind: str, suffix: str, tmp_path: Path) -> None:
    paths = {split: write(tmp_path / f"{split}{suffix}", split) for split in ("train", "test")}
    chunks = list(source(kind, **paths).chunks())
    splits = [(chunk.split, chunk.text.strip()) for chunk in chunks if isinstance(chunk, TextChunk)]
    assert [pair for pair in splits if pair[1]] == [("train", "train"), ("test", "test")]


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


def test_compressed_text_is_read(tmp_path: Path) -> None:
    packers: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
    for suffix, pack in packers.items():
        path = tmp_path / f"a.txt{suffix}"
        path.write_bytes(pack("ä".encode() * 1000))
        assert texts(source("plain", path=tmp_path)) == {str(path): "ä" * 1000}
        path.write_bytes(path.read_bytes()[:-12])
        with pytest.raises(DataError, match=r"must be complete, got: .* get the file again"):
            texts(source("plain", path=path))
        path.unlink()


def test_rows_may_be_compressed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.xz"
    path.write_bytes(lzma.compress(b'{"text": "one"}\n{"other": 1}\nno json\n'))
    first, *others = source("wiki40b", path=path).chunks()
    assert first == TextChunk(f"{path}:1", "one")
    assert [type(row) for row in others] == [Reject, Reject]
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(DataError, match=r"must be complete, got: .* after line"):
        list(source("wiki40b", path=path).chunks())


def test_bytes_that_are_not_utf8_are_refused_or_kept(tmp_path: Path) -> None:
    path = tmp_path / "enwik8"
    path.write_bytes(b"a\xffb")
    with pytest.raises(DataError, match=r"must be UTF-8, got byte 0xff near position 1; convert it, or set data\.voc"):
        texts(source("plain", path=path))
    (text,) = texts(source("plain", path=path), strict=False).values()
    assert text.encode(errors="surrogateescape") == b"a\xffb"


def test_documents_of_cc100_end_at_blank_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "fi.txt.xz"
    path.write_bytes(lzma.compress("Yksi.\nKaksi.\n\n\nKolme.\n\n\nNeljä".encode()))
    expected = {f"{path}:1": "Yksi.\nKaksi.\n", f"{path}:5": "Kolme.\n", f"{path}:8": "Neljä"}
    assert texts(source("cc100", path=path)) == expected
    monkeypatch.setattr(sources, "CHUNK_CHARACTERS", 3)
    assert texts(source("cc100", path=path)) == expected
    monkeypatch.setattr(sources, "DEFAULT_LIMITS", Limits(4))
    with pytest.raises(DataError, match="must have lines of at most 4 bytes, got a longer one"):
        texts(source("cc100", path=path))


WIKI = """
_START_ARTICLE_
Kissa
_START_SECTION_
Ulkonäkö
_START_PARAGRAPH_
Kissa on eläin._NEWLINE_Sillä on häntä.
_START_ARTICLE_
Koira
_START_PARAGRAPH_
Koira haukkuu.
"""


@pytest.mark.parametrize("size", [1 << 20, 7])
def test_articles_of_wiki40b_lose_their_marks(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CHUNK_CHARACTERS", size)
    path = tmp_path / "train.txt"
    path.write_text(WIKI)
    articles = {name: text.split() for name, text in texts(source("wiki40b", path=path)).items() if text.strip()}
    assert list(articles.values()) == [
        ["Kissa", "Ulkonäkö", "Kissa", "on", "eläin.", "Sillä", "on", "häntä."],
        ["Koira", "Koira", "haukkuu."],
    ]


def test_rows_of_wiki40b_may_be_literals_of_bytes(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    rows = [WIKI, repr(WIKI.encode()), "b'\\xff'", "b'unfinished"]
    path.write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
    first, second, third, fourth = texts(source("wiki40b", path=path)).values()
    assert first == second
    assert first.startswith("\nKissa\nUlkonäkö\n")
    assert (third, fourth) == ("b'\\xff'", "b'unfinished")
