import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from sumpool.corpora import parts as module
from sumpool.corpora.parts import PART_DOCUMENTS, Part, divide
from sumpool.corpora.rows import read_part
from sumpool.documents.document import DEFAULT_OPTIONS, Document, ReadOptions
from sumpool.documents.read import ignore_notice, read_all
from tests.conftest import story

ROWS = 2 * PART_DOCUMENTS + 7


def divided(*names: Path | str) -> list[Part]:
    return divide([str(name) for name in names], DEFAULT_OPTIONS, ignore_notice)


def documents(parts: Sequence[Part]) -> list[Document]:
    return [document for part in parts for document in read_part(part, DEFAULT_OPTIONS).documents]


def write(folder: Path, kind: str) -> Path:
    """A file of rows, of which one has no text and one, in JSON lines, is damaged."""
    rows = [{"n": number, "document": story(number, 3) if number != 3 else ""} for number in range(ROWS)]
    if kind == "parquet":
        parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "a.parquet", row_group_size=20)
        return folder / "a.parquet"
    lines = [json.dumps(row) for row in rows]
    lines[20] = "{broken"
    content = ("\n".join([*lines[:5], "", *lines[5:]]) + "\n").encode()
    path = folder / kind
    path.write_bytes(gzip.compress(content) if kind.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("kind", ["a.jsonl", "a.jsonl.gz", "parquet"])
def test_parts_have_the_documents_that_one_process_reads(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, kind)
    parts = divided(path)
    assert [part.documents for part in parts] == [PART_DOCUMENTS, PART_DOCUMENTS, 7]
    assert [part.index for part in parts] == [0, 1, 2]
    assert documents(parts) == list(read_all([str(path)]))


def test_each_part_is_read_alone(tmp_path: Path) -> None:
    last = divided(write(tmp_path, "a.jsonl"))[-1]
    assert [row["n"] for row in read_part(last, DEFAULT_OPTIONS).fields] == list(range(ROWS - 7, ROWS))


def test_files_of_a_folder_are_parts_of_many_documents(tmp_path: Path) -> None:
    for number in range(PART_DOCUMENTS + 1):
        (tmp_path / f"{number:03d}.txt").write_text(story(number, 3))
    (tmp_path / "rows.jsonl").write_text(json.dumps({"document": story(1, 3)}) + "\n")
    parts = divided(tmp_path)
    assert [(part.kind, part.documents) for part in parts] == [
        ("documents", PART_DOCUMENTS),
        ("documents", 1),
        ("lines", 1),
    ]
    assert documents(parts) == list(read_all([str(tmp_path)]))


def test_uris_have_the_documents_of_their_files(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for kind in ("a.jsonl.gz", "b.jsonl", "parquet"):
        write(folder, kind)
    (folder / "page.txt").write_text(story(1, 3))
    (folder / "picture.png").write_bytes(b"\x89PNG")
    texts = [document.text for document in documents(divided(f"file://{folder}/"))]
    assert len(texts) == 3 * ROWS + 1
    assert texts == [document.text for document in documents(divided(folder))]


def test_a_damaged_file_is_a_document_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + b"x" * 50)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 50)[:-12])
    first, second = (documents(divided(tmp_path / name)) for name in ("a.parquet", "b.jsonl.gz"))
    assert first[0].error
    assert second[-1].error


def test_a_page_that_is_damaged_fails_its_part(tmp_path: Path) -> None:
    path = write(tmp_path, "parquet")
    parts = divided(path)
    content = bytearray(path.read_bytes())
    content[8:60] = bytes(52)
    path.write_bytes(content)
    rows = read_part(parts[0], DEFAULT_OPTIONS)
    assert "must be complete" in rows.documents[0].error
    assert rows.table.num_rows == len(rows.documents) == 1
    last = read_part(parts[-1], DEFAULT_OPTIONS)  # in another row group
    assert last.table.num_rows == len(last.documents) == parts[-1].documents
    assert not any(document.error for document in last.documents)


def test_a_table_that_fills_the_memory_is_refused_as_in_one_process(tmp_path: Path) -> None:
    path, options = tmp_path / "a.parquet", ReadOptions(max_ratio=2)
    text = story(1, 500)
    parquet.write_table(pyarrow.table({"document": [text] * 2000}), path, use_dictionary=False, compression="zstd")
    parts = divide([str(path)], options, ignore_notice)
    (only,) = (document for part in parts for document in read_part(part, options).documents)
    assert "must expand to at most 2 times its size" in only.error
    assert [only] == list(read_all([str(path)], options))


def test_large_corpora_have_larger_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "a.jsonl")
    monkeypatch.setattr(module, "PART_DOCUMENTS", 4)
    monkeypatch.setattr(module, "MAX_PARTS", 5)
    parts = divided(path)
    assert [part.documents for part in parts] == [8, 8, 8, 8, 7]
    assert documents(parts) == list(read_all([str(path)]))
