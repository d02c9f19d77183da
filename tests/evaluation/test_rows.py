import gzip
import json
from pathlib import Path

import pytest
from backports import zstd

from sumpool.errors import DataError
from sumpool.evaluation.predictions import InputRow, open_rows, read_row, read_rows


def read(path: Path) -> list[InputRow]:
    with open_rows(path) as file:
        return list(read_rows(file, path))


def written(folder: Path, content: bytes) -> Path:
    path = folder / "rows.jsonl"
    path.write_bytes(content)
    return path


def test_rows_end_at_line_feeds_only(tmp_path: Path) -> None:
    content = '\ufeff{"a": "x\u2028y\x85z"}\r\n\n  \n{"a": 2}'.encode()
    rows = read(written(tmp_path, content))
    assert [(row.number, row.fields) for row in rows] == [(1, {"a": "x\u2028y\x85z"}), (4, {"a": 2})]
    assert content[rows[1].offset :] == b'{"a": 2}'
    assert rows[1].where == f"{tmp_path / 'rows.jsonl'}:4"


def test_compressed_files_are_decompressed(tmp_path: Path) -> None:
    content = b'{"a": 1}\n{"a": 2}\n'
    for suffix, compress in ((".gz", gzip.compress), (".zst", zstd.compress)):
        path = tmp_path / f"rows.jsonl{suffix}"
        path.write_bytes(compress(content))
        assert [row.fields["a"] for row in read(path)] == [1, 2]


def test_a_line_that_is_not_json_is_reported(tmp_path: Path) -> None:
    for line in (
        b"{",
        b"nonsense",
        b'{"a": "\xff"}',
        b"[" * 100_000,
        b'{"a": ' + b"9" * 5000 + b"}",
        b"\x00",
        b'{"a" 1}',
    ):
        with pytest.raises(DataError, match=r"rows\.jsonl:2 must be .*, got"):
            read(written(tmp_path, b"{}\n" + line + b"\n{}\n"))


def test_a_line_that_is_not_an_object_is_reported(tmp_path: Path) -> None:
    for line, kind in ((b"[1]", "list"), (b'"a"', "str"), (b"null", "NoneType"), (b"1e999", "float")):
        with pytest.raises(DataError, match=rf"rows\.jsonl:1 must be a JSON object, got {kind}"):
            read(written(tmp_path, line))


def test_an_unreadable_file_is_reported(tmp_path: Path) -> None:
    for name in ("missing.jsonl", "rows.jsonl.gz", "rows.jsonl.zst"):
        if "rows" in name:
            (tmp_path / name).write_bytes(b"not compressed")
        with pytest.raises(DataError, match=rf"{name} must be a file that can be read, got"):
            read(tmp_path / name)


def test_a_truncated_archive_is_an_error(tmp_path: Path) -> None:
    for suffix, compress in ((".gz", gzip.compress), (".zst", zstd.compress)):
        path = tmp_path / f"rows.jsonl{suffix}"
        path.write_bytes(compress(json.dumps({"a": list(range(1000))}).encode() + b"\n")[:-20])
        with pytest.raises(DataError, match="must be a file that can be read"):
            read(path)


def row(**values: object) -> InputRow:
    return read_row(json.dumps(values).encode(), Path("rows.jsonl"), 3, 0)


def test_text_and_id_fields_are_returned() -> None:
    assert row(a="Grüße").text("a") == "Grüße"
    assert row(a="").text("a") == ""
    assert (row(a="x").name("a"), row(a=17).name("a")) == ("x", "17")


def test_a_field_without_text_is_reported() -> None:
    for value in (1, None, ["a"], {"a": "b"}, True):
        with pytest.raises(DataError, match=r"rows\.jsonl:3 must have a text in 'a', got"):
            row(a=value).text("a")


def test_a_field_without_an_id_is_reported() -> None:
    for value in (1.5, None, ["a"], True, ""):
        with pytest.raises(DataError, match=r"rows\.jsonl:3 must have a name in 'a', got"):
            row(a=value).name("a")


def test_a_lone_surrogate_is_not_text() -> None:
    with pytest.raises(DataError, match=r"rows\.jsonl:3 must have Unicode text in 'a', got '\\ud800' at 1"):
        row(a="x\ud800").text("a")
    with pytest.raises(DataError, match="must have Unicode text"):
        row(a="\udfff").name("a")


def test_common_field_names_are_tried_in_order() -> None:
    assert row(summary="", abstract="").guess(("reference", "abstract", "summary")) == "abstract"
    with pytest.raises(DataError, match=r"rows\.jsonl:3 must have one of the fields a, b, got x, y"):
        row(x=1, y=2).guess(("a", "b"))
