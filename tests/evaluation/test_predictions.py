import gzip
import json
from pathlib import Path

import pytest
from backports import zstd

from sumpool.errors import DataError
from sumpool.evaluation.predictions import References, join
from tests.conftest import write_lines

Row = tuple[str, str, str, str | None]


def joined_rows(predictions: Path, references: Path) -> list[Row]:
    """ID, summary, reference and document of each document."""
    documents = References.of_file(references)
    summaries, _ = join(predictions, documents)
    assert len(summaries) == len(documents.ids)
    return [(each.id, summaries[each.id], each.reference, each.document) for each in documents.read()]


def references_of(folder: Path, names: str) -> Path:
    rows = [{"id": name, "document": f"document {name}", "summary": f"reference {name}"} for name in names]
    return write_lines(folder / "references.jsonl", rows)


@pytest.fixture
def references(tmp_path: Path) -> Path:
    return references_of(tmp_path, "abc")


def summaries(folder: Path, names: str) -> Path:
    return write_lines(folder / "summaries.jsonl", [{"id": name, "summary": f"summary {name}"} for name in names])


def test_rows_are_joined_by_id_in_the_order_of_the_references(tmp_path: Path, references: Path) -> None:
    assert joined_rows(summaries(tmp_path, "cab"), references) == [
        (name, f"summary {name}", f"reference {name}", f"document {name}") for name in "abc"
    ]


def test_guessed_fields_are_reported(tmp_path: Path) -> None:
    summaries = write_lines(tmp_path / "s.jsonl", [{"article_id": 7, "prediction": "p"}])
    row = {"article_id": "7", "abstract": "r", "article": "d", "text": "t", "document": 3}
    references = write_lines(tmp_path / "r.jsonl", [row])
    assert joined_rows(summaries, references) == [("7", "p", "r", "d")]
    assert join(summaries, References.of_file(references))[1] == [
        "s.jsonl: text in 'prediction', id in 'article_id'",
        "r.jsonl: text in 'abstract', id in 'article_id', document in 'article'",
    ]


def test_files_without_ids_are_joined_by_line(tmp_path: Path) -> None:
    summaries = write_lines(tmp_path / "s.jsonl", [{"summary": "one"}, {"summary": "two"}])
    references = write_lines(tmp_path / "r.jsonl", [{"summary": "first"}, {"summary": "second"}])
    assert joined_rows(summaries, references) == [("1", "one", "first", None), ("2", "two", "second", None)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("generated_predictions.txt", "one\ntwo, too\n\nfour"),
        ("model.hypo", "one\r\ntwo, too\r\n\r\nfour\r\n"),
        ("rows.csv", 'source,prediction\n"a\nb",one\nc,"two, too"\nd,\ne,four\n'),
        ("rows.tsv", "prediction\tx\none\t1\ntwo, too\t2\n\t3\nfour\t4\n"),
        ("rows.csv", "x;prediction\n1;one\n2;two, too\n3;\n4;four\n"),
        ("rows.txt", "".join(f'{{"prediction": "{text}"}}\n' for text in ("one", "two, too", "", "four"))),
    ],
)
def test_summaries_of_other_programs_are_joined_in_order(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_bytes(content.encode())
    texts = ["one", "two, too", "", "four"]
    named = write_lines(tmp_path / "r.jsonl", [{"id": f"d{number}", "summary": "r"} for number in range(4)])
    rows: list[Row] = [(f"d{number}", text, "r", None) for number, text in enumerate(texts)]
    assert joined_rows(tmp_path / name, named) == rows
    (tmp_path / "r.csv").write_text("text,summary\n" + '"d\nd",r\n' * 4)
    rows = [(str(number), text, "r", "d\nd") for number, text in enumerate(texts, 1)]
    assert joined_rows(tmp_path / name, tmp_path / "r.csv") == rows


def test_ids_are_never_joined_with_line_numbers(tmp_path: Path) -> None:
    with_ids = write_lines(tmp_path / "s.jsonl", [{"id": 1, "summary": "one"}])
    without = write_lines(tmp_path / "r.jsonl", [{"summary": "first"}])
    twice = write_lines(tmp_path / "t.jsonl", [{"summary": "first"}, {"summary": "second"}])
    with pytest.raises(DataError, match=r"must both have ids, or neither, got rows with text in 'summary', .* and"):
        joined_rows(with_ids, without)
    with pytest.raises(DataError, match=r"each of the 1 documents of .*s\.jsonl where it has no ids, got 2; an empty"):
        joined_rows(twice, with_ids)


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        ("", "abc", r"summaries\.jsonl must have at least one row, got none"),
        ("b", "abc", r"summaries\.jsonl must have a summary for every .* got none for 2 \(a, c\)"),
        ("aba", "abc", r"summaries\.jsonl:3 must have a unique id, got 'a' of line 1 again"),
        ("ab", "aa", r"references\.jsonl:2 must have a unique id, got 'a' of line 1 again"),
    ],
)
def test_files_that_do_not_fit_together_are_reported(tmp_path: Path, ours: str, theirs: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        joined_rows(summaries(tmp_path, ours), references_of(tmp_path, theirs))


def test_a_missing_summary_may_be_skipped(tmp_path: Path, references: Path) -> None:
    joined, notes = join(summaries(tmp_path, "b"), References.of_file(references), skip_missing=True)
    assert list(joined) == ["b"]
    assert notes[-1] == "references without a summary, left out: 2 (a, c)"


def test_an_extra_summary_is_noted(tmp_path: Path, references: Path) -> None:
    joined, notes = join(summaries(tmp_path, "xabyc"), References.of_file(references))
    assert len(joined) == 3
    assert notes[-1] == "summaries without a reference, left out: 2 (x, y)"
    path = summaries(tmp_path, "abc")
    path.write_text(path.read_text() + json.dumps({"id": "x" * 70, "summary": "Long."}))
    *_, note = join(path, References.of_file(references))[1]
    assert note == f"summaries without a reference, left out: 1 ({'x' * 60})"


def test_a_row_without_its_document_is_reported(tmp_path: Path) -> None:
    references = write_lines(
        tmp_path / "r.jsonl", [{"id": "a", "summary": "r", "text": "d"}, {"id": "b", "summary": "r"}]
    )
    with pytest.raises(DataError, match=r"r\.jsonl:2 must have a text in 'text', got the fields id, summary"):
        joined_rows(summaries(tmp_path, "ab"), references)


def test_damaged_archives_are_reported(tmp_path: Path, references: Path) -> None:
    rows = json.dumps({"id": "a", "summary": "s" * 1000}).encode() + b"\n"
    for suffix, compress in ((".gz", gzip.compress), (".zst", zstd.compress)):
        path = tmp_path / f"rows.jsonl{suffix}"
        for content in (b"not compressed", compress(rows)[:-8]):
            path.write_bytes(content)
            with pytest.raises(DataError, match=rf"rows\.jsonl{suffix} must be complete, got"):
                joined_rows(path, references)
    with pytest.raises(DataError, match=r"missing\.jsonl must be a file that can be read, got"):
        joined_rows(tmp_path / "missing.jsonl", references)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        *(({"id": "a", "summary": value}, "must have a text in 'summary', got") for value in (1, None, ["a"], True)),
        *(({"id": value, "summary": "s"}, "must have a name in 'id', got") for value in (1.5, None, ["a"], True, "")),
        ({"id": "a", "summary": "x\ud800"}, r"must have Unicode text in 'summary', got '\\ud800' at 1"),
        ({"id": "\udfff", "summary": "s"}, "must have Unicode text in 'id'"),
        ({"x": 1, "y": 2}, "must have one of the fields summary, prediction, .*, got x, y"),
        ({f"x{number}": 1 for number in range(9)}, r"must have one of the fields .*, got x0, .*, x7, \.\.\.$"),
    ],
)
def test_wrong_fields_are_reported(tmp_path: Path, references: Path, row: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=rf"s\.jsonl:1 {message}"):
        joined_rows(write_lines(tmp_path / "s.jsonl", [row]), references)
