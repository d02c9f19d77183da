import gzip
import json
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from backports import zstd

from sumpool.errors import DataError
from sumpool.evaluation.predictions import InputRow, join, open_rows, read_row, read_rows
from sumpool.evaluation.scorer import Candidate


def write(path: Path, rows: Iterable[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def references(tmp_path: Path) -> Path:
    return write(
        tmp_path / "references.jsonl",
        [{"id": name, "document": f"document {name}", "summary": f"reference {name}"} for name in "abc"],
    )


def summaries(tmp_path: Path, names: str) -> Path:
    return write(tmp_path / "summaries.jsonl", [{"id": name, "summary": f"summary {name}"} for name in names])


def test_rows_are_joined_by_id_in_the_order_of_the_references(tmp_path: Path, references: Path) -> None:
    joined = join(summaries(tmp_path, "cab"), references)
    assert joined.documents == 3
    assert list(joined.candidates()) == [
        Candidate(name, f"summary {name}", f"reference {name}", f"document {name}") for name in "abc"
    ]
    assert [candidate.id for candidate in joined.candidates({"a", "c"})] == ["b"]


def test_compressed_summaries_are_joined_too(tmp_path: Path, references: Path) -> None:
    plain = summaries(tmp_path, "cab")
    packed = tmp_path / "summaries.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert list(join(packed, references).candidates()) == list(join(plain, references).candidates())


def test_guessed_fields_are_reported(tmp_path: Path) -> None:
    summaries = write(tmp_path / "s.jsonl", [{"article_id": 7, "prediction": "p"}])
    references = write(
        tmp_path / "r.jsonl", [{"article_id": "7", "abstract": "r", "article": "d", "text": "t", "document": 3}]
    )
    joined = join(summaries, references)
    assert list(joined.candidates()) == [Candidate("7", "p", "r", "d")]
    assert joined.notes == [
        "s.jsonl: text in 'prediction', id in 'article_id'",
        "r.jsonl: text in 'abstract', id in 'article_id', document in 'article'",
    ]


def test_files_without_ids_are_joined_by_line(tmp_path: Path) -> None:
    summaries = write(tmp_path / "s.jsonl", [{"summary": "one"}, {"summary": "two"}])
    references = write(tmp_path / "r.jsonl", [{"summary": "first"}, {"summary": "second"}])
    assert list(join(summaries, references).candidates()) == [
        Candidate("1", "one", "first", None),
        Candidate("2", "two", "second", None),
    ]


def test_ids_are_never_joined_with_line_numbers(tmp_path: Path) -> None:
    with_ids = write(tmp_path / "s.jsonl", [{"id": 1, "summary": "one"}])
    without = write(tmp_path / "r.jsonl", [{"summary": "first"}])
    for first, second in ((with_ids, without), (without, with_ids)):
        with pytest.raises(DataError, match=r"must both have ids, or neither, got text in 'summary', .* and text in"):
            join(first, second)


def test_a_missing_summary_is_reported(tmp_path: Path, references: Path) -> None:
    with pytest.raises(DataError, match=r"summaries\.jsonl must have a summary for every .* got none for 2 \(a, c\)"):
        join(summaries(tmp_path, "b"), references)
    joined = join(summaries(tmp_path, "b"), references, skip_missing=True)
    assert [candidate.id for candidate in joined.candidates()] == ["b"]
    assert joined.documents == 1
    assert joined.notes[-1] == "references without a summary, left out: 2 (a, c)"


def test_an_extra_summary_is_noted(tmp_path: Path, references: Path) -> None:
    joined = join(summaries(tmp_path, "xabyc"), references)
    assert joined.documents == 3
    assert joined.notes[-1] == "summaries without a reference, left out: 2 (x, y)"


def test_files_that_share_nothing_are_an_error_even_when_skipping(tmp_path: Path, references: Path) -> None:
    with pytest.raises(DataError, match=r"got none for 3 \(a, b, c\)"):
        join(summaries(tmp_path, "xyz"), references, skip_missing=True)


def test_a_repeated_id_is_reported(tmp_path: Path, references: Path) -> None:
    with pytest.raises(DataError, match=r"summaries\.jsonl:3 must have a unique id, got 'a' of line 1 again"):
        join(summaries(tmp_path, "aba"), references)
    doubled = write(tmp_path / "r.jsonl", [{"id": "a", "summary": "r"}, {"id": "a", "summary": "r"}])
    with pytest.raises(DataError, match=r"r\.jsonl:2 must have a unique id, got 'a' of line 1 again"):
        join(summaries(tmp_path, "ab"), doubled)


def test_an_empty_file_is_an_error(tmp_path: Path, references: Path) -> None:
    with pytest.raises(DataError, match=r"summaries\.jsonl must have at least one row, got none"):
        join(summaries(tmp_path, ""), references)


def test_an_invalid_row_is_reported_before_scoring(tmp_path: Path, references: Path) -> None:
    invalid: list[dict[str, object]] = [{"id": "c"}, {"id": "c", "summary": None}, {"id": None, "summary": "x"}, {}]
    for bad in invalid:
        rows: list[dict[str, object]] = [{"id": name, "summary": "s"} for name in "ab"]
        with pytest.raises(DataError, match=r"summaries\.jsonl:3 must have a"):
            join(write(tmp_path / "summaries.jsonl", [*rows, bad]), references)
        rows = [{"id": name, "summary": "r", "document": "d"} for name in "ab"]
        with pytest.raises(DataError, match=r"references\.jsonl:3 must have a"):
            join(summaries(tmp_path, "abc"), write(tmp_path / "bad-references.jsonl", [*rows, bad]))


def test_a_row_without_its_document_is_reported(tmp_path: Path) -> None:
    references = write(tmp_path / "r.jsonl", [{"id": "a", "summary": "r", "text": "d"}, {"id": "b", "summary": "r"}])
    with pytest.raises(DataError, match=r"r\.jsonl:2 must have a text in 'text', got the fields id, summary"):
        join(summaries(tmp_path, "ab"), references)


def test_damaged_files_are_joined_or_reported(tmp_path: Path, references: Path) -> None:
    generator = random.Random(3)
    whole = summaries(tmp_path, "abc").read_bytes()
    pieces = [
        b"\n",
        b"\r\n",
        b"\x00",
        b"\xff",
        b'"',
        b"{",
        b"}",
        b"null",
        b"[1]",
        b"\\ud800",
        b"\xe2\x80\xa8",
        b"",
        b"1e999",
    ]
    path = tmp_path / "damaged.jsonl"
    named = joined = 0
    for _ in range(1000):
        place = generator.randrange(len(whole))
        path.write_bytes(whole[:place] + generator.choice(pieces) + whole[place + generator.randrange(8) :])
        try:
            assert len(list(join(path, references).candidates())) == 3
            joined += 1
        except DataError as error:
            assert str(path) in str(error)  # noqa: PT017 - what is raised in most of the cases
            named += 1
    assert min(named, joined) > 50


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
