import io
import json
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from sumpool.documents.document import DEFAULT_OPTIONS, Document, ReadOptions
from sumpool.documents.rows import json_line_documents, row_documents
from sumpool.errors import DataError


def table(**columns: list[object]) -> bytes:
    content = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), content)
    return content.getvalue()


def test_json_lines_have_titles_and_notes(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"id": "a", "title": "A\u200b title", "text": "Some\u200b text."}))
    expected = Document("a", "Some text.", title="A title", notes=("1 invisible character removed",))
    assert list(json_line_documents(path, DEFAULT_OPTIONS)) == [expected]
    assert list(row_documents("x", path.read_bytes(), "jsonl", DEFAULT_OPTIONS)) == [expected]


def test_long_line_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "' + "x" * 100)
    with pytest.raises(
        DataError, match=r"x.jsonl:1 must have at most 0 MiB of content, got more; raise --max-bytes to read it"
    ):
        list(json_line_documents(path, ReadOptions(max_bytes=50)))


def test_parquet_rows_are_documents() -> None:
    content = table(id=["a", "b"], article=["First.", None], title=["T", None], summary=["s", "s"])
    first, second = row_documents("x.parquet", content, "parquet", DEFAULT_OPTIONS)
    assert first == Document("a", "First.", title="T")
    assert second.error == "x.parquet:2 'article' must be text, got NoneType"
    (only,) = row_documents("x.parquet", table(story=["Once."]), "parquet", ReadOptions(field="story"))
    assert only == Document("x.parquet:1", "Once.")
    (wrong,) = row_documents("x.parquet", table(number=[1]), "parquet", DEFAULT_OPTIONS)
    assert wrong.error == "x.parquet:1 must have a field 'document', got 'number'"


def test_trained_field_is_taken_where_a_row_has_it() -> None:
    content = b'{"text": "Usual.", "body": "Trained."}\n{"text": "Usual."}\n'
    rows = row_documents("x.jsonl", content, "jsonl", ReadOptions(trained_field="body"))
    assert [row.text for row in rows] == ["Trained.", "Usual."]
    rows = row_documents("x.jsonl", content, "jsonl", ReadOptions(field="text", trained_field="body"))
    assert [row.text for row in rows] == ["Usual.", "Usual."]
    parquet = table(text=["Usual."], body=["Trained."])
    assert [row.text for row in row_documents("x", parquet, "parquet", ReadOptions(trained_field="body"))] == [
        "Trained."
    ]


def test_damaged_parquet_is_an_error() -> None:
    with pytest.raises(DataError, match=r"x.parquet must be complete, got: .* after row 0; get the file again"):
        list(row_documents("x.parquet", b"PAR1" + b"x" * 50, "parquet", DEFAULT_OPTIONS))


def test_separated_values_are_documents() -> None:
    for kind, delimiter in [("csv", ","), ("csv", ";"), ("csv", "|"), ("tsv", "\t")]:
        rows = [["id", "text"], ["a", '"One\nline."'], ["b"], ["c", "x", "y"], []]
        content = "\n".join(delimiter.join(row) for row in rows).encode()
        first, second, third = row_documents("x", content, kind, DEFAULT_OPTIONS)
        assert first == Document("a", "One\nline.")
        assert second.error == "x:4 must have a field 'document', got 'id'"
        assert third.error == "x:5 must have 2 columns, got 3"


def test_rows_without_a_header_are_none() -> None:
    assert list(row_documents("x", b"", "csv", DEFAULT_OPTIONS)) == []
