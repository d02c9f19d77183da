import gzip
import io
import json
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from sumpool.documents.document import DEFAULT_OPTIONS, Document, ReadOptions
from sumpool.documents.read import read_documents
from sumpool.documents.rows import Line, Reject, guess_field, read_lines, row_documents, text_of
from sumpool.errors import DataError


def table(**columns: list[object]) -> bytes:
    content = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), content)
    return content.getvalue()


def test_json_lines_are_documents(tmp_path: Path) -> None:
    rows = [
        json.dumps({"id": "a", "title": "A\u200b title", "article": "Some\u200b text.", "story": "Once."}),
        json.dumps({"id": 2, "article": "Second."}),
        json.dumps({"article": "Third."}),
        "{broken",
        json.dumps({"id": "b", "title": "x"}),
        json.dumps({"id": "c", "text": 1}),
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(rows))
    documents = list(read_documents(str(path)))
    assert list(row_documents(str(path), path.read_bytes(), "jsonl", DEFAULT_OPTIONS)) == documents
    first, second, third, broken, *others = documents
    assert first == Document("a", "Some text.", title="A title", notes=("1 invisible character removed",))
    assert (second, third) == (Document("2", "Second."), Document(f"{path}:3", "Third."))
    assert (broken.id, broken.text) == (f"{path}:4", "")
    assert broken.error.startswith(f"{path}:4 must be a JSON object")
    assert [(document.id, document.error) for document in others] == [
        ("b", f"{path}:5 must have a field 'document', got 'id', 'title'"),
        ("c", f"{path}:6 'text' must be text, got int"),
    ]
    assert next(iter(read_documents(str(path), ReadOptions(field="story")))).text == "Once."


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
    lines = b'{"text": "Usual.", "body": "Trained."}\n{"text": "Usual."}\n'
    for content, kind, field, expected in [
        (lines, "jsonl", None, ["Trained.", "Usual."]),
        (lines, "jsonl", "text", ["Usual.", "Usual."]),
        (table(text=["Usual."], body=["Trained."]), "parquet", None, ["Trained."]),
    ]:
        rows = row_documents("x", content, kind, ReadOptions(field=field, trained_field="body"))
        assert [row.text for row in rows] == expected


def test_damaged_and_truncated_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"x.parquet must be complete, got: .* after row 0; get the file again"):
        list(row_documents("x.parquet", b"PAR1" + b"x" * 50, "parquet", DEFAULT_OPTIONS))
    whole = gzip.compress(b'{"a": 1}\n' * 10_000)
    with pytest.raises(DataError, match=r"x\.jsonl\.gz must be complete, got: .* after line \d+; get the file again"):
        read(tmp_path / "x.jsonl.gz", whole[: len(whole) // 2])


def test_separated_values_are_documents() -> None:
    for kind, delimiter in [("csv", ","), ("csv", ";"), ("csv", "|"), ("tsv", "\t")]:
        rows = [["id", "text"], ["a", '"One\nline."'], ["b"], ["c", "x", "y"], []]
        content = "\n".join(delimiter.join(row) for row in rows).encode()
        first, second, third = row_documents("x", content, kind, DEFAULT_OPTIONS)
        assert first == Document("a", "One\nline.")
        assert second.error == "x:4 must have a field 'document', got 'id'"
        assert third.error == "x:5 must have 2 columns, got 3"
        assert list(row_documents("x", b"", kind, DEFAULT_OPTIONS)) == []


def read(path: Path, content: bytes) -> list[Line | Reject]:
    path.write_bytes(content)
    return list(read_lines(path))


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\x85d\re"
    line = json.dumps({"text": text}, ensure_ascii=False).encode()
    path = tmp_path / "x.jsonl"
    lines = read(path, b"\xef\xbb\xbf" + line + b"\r\n\n  \n" + line)
    assert lines == [Line(f"{path}:1", {"text": text}), Line(f"{path}:4", {"text": text})]


def test_invalid_line_does_not_stop_the_next(tmp_path: Path) -> None:
    for content, reason in [
        (b"{", "must be a JSON object, got: Expecting property name"),
        (b"[1]", "must be a JSON object, got list"),
        (b"null", "must be a JSON object, got NoneType"),
        (b'{"a": "\xe9"}', "must be UTF-8, got byte 0xe9 at position 7"),
        (b'{"a": "\0"}', "must be text, got a null character"),
        (b"[" * 100_000, "more than 64 levels of brackets"),
        (b'{"a": ' + b"9" * 5000 + b"}", "digits"),
    ]:
        path = tmp_path / "x.jsonl"
        bad, good = read(path, content + b'\n{"a": 1}\n')
        assert isinstance(bad, Reject)
        assert bad.where == f"{path}:1"
        assert reason in bad.reason
        assert good == Line(f"{path}:2", {"a": 1})


def test_invalid_text_is_an_error() -> None:
    text = 1000 * "a"
    assert text_of({"text": f"{text}\0"}, "text") == text
    wrong: list[tuple[dict[str, object], str]] = [
        ({"a": 1, "b": 2}, "must have a field 'text', got 'a', 'b'"),
        ({"text": None}, "'text' must be text, got NoneType"),
        ({"text": " \n"}, "'text' must contain text, got an empty one"),
        ({"text": f"{text[2:]}\0"}, "'text' must be text, got a null character"),
        ({"text": "a\ud800"}, "'text' must be valid Unicode, got an unpaired surrogate at 1"),
    ]
    for fields, reason in wrong:
        with pytest.raises(ValueError, match=reason):
            text_of(fields, "text")


def test_guess_prefers_the_first_candidate() -> None:
    assert guess_field({"body": "", "article": ""}, ("article", "body")) == "article"
    assert guess_field({"other": ""}, ("article", "body")) is None
