import gzip
import json
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from backports import zstd

from sumpool.errors import DataError
from sumpool.evaluation.predictions import join
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


def test_damaged_archives_are_reported(tmp_path: Path, references: Path) -> None:
    rows = json.dumps({"id": "a", "summary": "s" * 1000}).encode() + b"\n"
    for suffix, compress in ((".gz", gzip.compress), (".zst", zstd.compress)):
        path = tmp_path / f"rows.jsonl{suffix}"
        for content in (b"not compressed", compress(rows)[:-8]):
            path.write_bytes(content)
            with pytest.raises(DataError, match=rf"rows\.jsonl{suffix} must be complete, got"):
                join(path, references)
    with pytest.raises(DataError, match=r"missing\.jsonl must be a file that can be read, got"):
        join(tmp_path / "missing.jsonl", references)


def test_lines_that_are_no_rows_are_reported(tmp_path: Path, references: Path) -> None:
    path = tmp_path / "rows.jsonl"
    for line in (b"{", b"nonsense", b'{"a": "\xff"}', b"[" * 100_000, b"[1]", b"null", b"1e999"):
        path.write_bytes(b'{"id": "a", "summary": "s"}\n' + line + b"\n{}\n")
        with pytest.raises(DataError, match=r"rows\.jsonl:2 must be .*, got"):
            join(path, references)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        *(({"id": "a", "summary": value}, "must have a text in 'summary', got") for value in (1, None, ["a"], True)),
        *(({"id": value, "summary": "s"}, "must have a name in 'id', got") for value in (1.5, None, ["a"], True, "")),
        ({"id": "a", "summary": "x\ud800"}, r"must have Unicode text in 'summary', got '\\ud800' at 1"),
        ({"id": "\udfff", "summary": "s"}, "must have Unicode text in 'id'"),
        ({"x": 1, "y": 2}, "must have one of the fields summary, prediction, .*, got x, y"),
    ],
)
def test_fields_of_the_wrong_type_are_reported(
    tmp_path: Path, references: Path, row: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=rf"s\.jsonl:1 {message}"):
        join(write(tmp_path / "s.jsonl", [row]), references)


def test_common_field_names_are_tried_in_order(tmp_path: Path) -> None:
    references = write(
        tmp_path / "r.jsonl", [{"id": 17, "summary": "", "abstract": "Gr\u00fc\u00dfe", "reference": "r"}]
    )
    joined = join(write(tmp_path / "s.jsonl", [{"id": "17", "output": "o", "summary": ""}]), references)
    assert list(joined.candidates()) == [Candidate("17", "", "r", None)]
