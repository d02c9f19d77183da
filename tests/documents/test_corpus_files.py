import gzip
import io
import json
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from sumpool.documents.corpus_files import encode_rows, list_files, read_rows
from sumpool.documents.document import DEFAULT_OPTIONS, Document, ReadOptions
from sumpool.documents.read import ignore_notice, read_all
from tests.conftest import story

ROWS = 150
KINDS = ("a.jsonl", "a.jsonl.gz", "a.parquet")


def documents(name: Path | str, options: ReadOptions = DEFAULT_OPTIONS) -> list[Document]:
    files = list_files(str(name), options, ignore_notice)
    return [document for file in files for document, _ in read_rows(file, options)]


def write(folder: Path, name: str) -> Path:
    """A file of rows, of which one has no text and one, in JSON lines, is damaged."""
    rows = [{"n": number, "document": story(number, 3) if number != 3 else ""} for number in range(ROWS)]
    path = folder / name
    if path.suffix == ".parquet":
        parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=20)
        return path
    lines = [json.dumps(row) for row in rows]
    lines[20] = "{broken"
    content = ("\n".join([*lines[:5], "", *lines[5:]]) + "\n").encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", KINDS)
def test_documents_are_those_that_one_process_reads(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, name)
    assert documents(path) == list(read_all([str(path)]))


def test_uris_have_the_documents_of_their_files(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name in KINDS:
        write(folder, name)
    (folder / "page.txt").write_text(story(1, 3))
    (folder / "picture.png").write_bytes(b"\x89PNG")
    texts = [document.text for document in documents(f"file://{folder}/")]
    assert len(texts) == 3 * ROWS + 1
    assert texts == [document.text for document in documents(folder)]


def test_a_damaged_file_is_a_document_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + b"x" * 50)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 50)[:-12])
    (tmp_path / "c.jsonl").write_bytes(b"")
    large = pyarrow.table({"document": ["a" * 2**25]})
    parquet.write_table(large, tmp_path / "d.parquet", use_dictionary=False, compression="zstd")
    for name, reason in [
        ("a.parquet", "must be complete"),
        ("b.jsonl.gz", "must be"),
        ("c.jsonl", "must hold rows"),
        ("d.parquet", "must expand to at most 300 times its size"),
    ]:
        assert reason in documents(tmp_path / name)[-1].error
    ((missing, fields),) = read_rows("missing.jsonl", DEFAULT_OPTIONS)
    assert "missing.jsonl must be a file that can be read" in missing.error
    assert fields == {"id": "missing.jsonl"}


def test_a_page_that_is_damaged_ends_its_file(tmp_path: Path) -> None:
    path = write(tmp_path, "a.parquet")
    content = bytearray(path.read_bytes())
    metadata = parquet.read_metadata(path).row_group(7).column(0)
    start = metadata.dictionary_page_offset or metadata.data_page_offset
    content[start : start + 20] = bytes(20)
    path.write_bytes(content)
    rows = list(read_rows(str(path), DEFAULT_OPTIONS))
    assert len(rows) == 128 + 1  # whole batches
    assert "must be complete" in rows[-1][0].error
    assert not any(document.error for document, _ in rows[4:128])
    written = parquet.read_table(io.BytesIO(encode_rows(str(path), [(row, {"reason": "?"}) for _, row in rows])))
    assert written.num_rows == len(rows)
    assert written.to_pylist()[-1] == {"n": None, "document": None, "reason": "?"}


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_columns_are_added_and_those_of_the_file_keep_name_and_type(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    row = {"n": 1, "summary": 7, "document": "A text."}
    schema = pyarrow.schema([("n", pyarrow.int8()), ("summary", pyarrow.int64()), ("document", pyarrow.string())])
    parquet.write_table(pyarrow.Table.from_pylist([row], schema), tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n")
    ((_, fields),) = read_rows(str(path), DEFAULT_OPTIONS)
    source = {"text": "A text.", "start": 0, "end": 7, "page": None, "line": None, "weight": None}
    evidence = [{"sentence": "A.", "unsupported": ["A"], "sources": [source]}]
    content = encode_rows(str(path), [(fields, {"summary": "A.", "tokens_read": 3, "evidence": evidence})])
    added = {"generated_summary": "A.", "tokens_read": 3, "evidence": evidence}
    if name == "a.parquet":
        table = parquet.read_table(io.BytesIO(content))
        assert table.schema.field("n").type == pyarrow.int8()
        assert table.to_pylist() == [row | added]
    else:
        assert [json.loads(line) for line in content.splitlines()] == [row | added]
