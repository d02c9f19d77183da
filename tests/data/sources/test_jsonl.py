import gzip
import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from sumpool.data.config import Example, Reject
from sumpool.data.sources import JsonlSourceConfig
from sumpool.errors import DataError


def write(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def row(name: object = "a", document: object = "A document.", summary: object = "A summary.") -> dict[str, object]:
    return {"id": name, "document": document, "summary": summary}


def test_files_that_expand_to_too_much_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(bytes(32 * 2**20)))
    with pytest.raises(DataError, match=r"x\.jsonl\.gz must expand to at most 300 times its size, got more"):
        list(JsonlSourceConfig(path=path).rows())


def test_files_per_split_are_read(tmp_path: Path) -> None:
    config = JsonlSourceConfig(
        train=write(tmp_path / "a", row("1"), row(2)),
        validation=write(tmp_path / "b", row("3")),
        test=write(tmp_path / "c", row("4")),
    )
    assert list(config.rows()) == [
        Example("1", "A document.", "A summary.", "train"),
        Example("2", "A document.", "A summary.", "train"),
        Example("3", "A document.", "A summary.", "validation"),
        Example("4", "A document.", "A summary.", "test"),
    ]


def test_split_by_id_is_independent_of_order(tmp_path: Path) -> None:
    rows = [row(str(number)) for number in range(200)]
    one = JsonlSourceConfig(path=write(tmp_path / "a", *rows), validation_share=0.2, test_share=0.2)
    other = JsonlSourceConfig(path=write(tmp_path / "b", *rows[::-1]), validation_share=0.2, test_share=0.2)
    splits = {example.id: example.split for example in one.rows() if isinstance(example, Example)}
    assert splits == {example.id: example.split for example in other.rows() if isinstance(example, Example)}
    assert set(splits.values()) == {"train", "validation", "test"}


def test_usual_field_names_are_guessed_and_noted(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", {"article_id": 7, "title": "t", "article": "Text.", "highlights": "Short."})
    config = JsonlSourceConfig(path=path, validation_share=0, test_share=0)
    assert list(config.rows()) == [Example("7", "Text.", "Short.", "train")]
    assert list(config.notes()) == [
        f"{path}: read 'article' as document, 'highlights' as summary and 'article_id' as id"
    ]


def test_line_number_is_the_default_id(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", {"text": "Text.", "summary": "Short."})
    config = JsonlSourceConfig(train=path, validation_share=0)
    assert list(config.rows()) == [Example(f"{path}:1", "Text.", "Short.", "train")]
    assert list(config.notes()) == [
        f"{path}: read 'text' as document, 'summary' as summary and the location in the file as id"
    ]


def test_field_names_can_be_set(tmp_path: Path) -> None:
    path = write(tmp_path / "x", {"key": "k", "long": "Text.", "short": "Short.", "document": "no"})
    config = JsonlSourceConfig(train=path, validation_share=0, document="long", summary="short", id="key")
    assert list(config.rows()) == [Example("k", "Text.", "Short.", "train")]
    assert list(config.notes()) == []


def test_invalid_row_is_rejected_with_its_line(tmp_path: Path) -> None:
    for bad, reason in [
        (row(document=""), "'document' must contain text"),
        (row(summary=" "), "'summary' must contain text"),
        (row(document=["a"]), "'document' must be text, got list"),
        (row(summary=None), "'summary' must be text, got NoneType"),
        (row(name=None), "'id' must be text, got NoneType"),
        (row(name=True), "'id' must be text, got bool"),
        (row(document="a\ud800"), "'document' must be valid Unicode"),
        (row(document="a\0"), "'document' must be text, got a null character"),
        ({"id": "a", "document": "A"}, "must have a field 'summary', got 'id', 'document'"),
        ([1], "must be a JSON object, got list"),
    ]:
        path = write(tmp_path / "x.jsonl", row("good"), bad, row("last"))
        good, rejected, last = JsonlSourceConfig(train=path, validation_share=0).rows()
        assert isinstance(good, Example)
        assert isinstance(last, Example)
        assert isinstance(rejected, Reject)
        assert rejected.where == f"{path}:2"
        assert reason in rejected.reason


def test_fields_without_usual_names_are_an_error(tmp_path: Path) -> None:
    for fields, missing in [({"summary": "s"}, "document"), ({"text": "t"}, "summary")]:
        path = write(tmp_path / "x", {"other": "o", **fields})
        message = (
            f"must have a field that looks like a {missing}, got 'other', .*; set data.source.{missing} to its name"
        )
        with pytest.raises(DataError, match=message):
            list(JsonlSourceConfig(path=path).rows())


def test_empty_file_has_no_rows(tmp_path: Path) -> None:
    assert list(JsonlSourceConfig(path=write(tmp_path / "x")).rows()) == []


def test_path_excludes_files_per_split(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="must have either path, or train with validation and test"):
        JsonlSourceConfig()
    with pytest.raises(ValidationError, match="must have either path, or train with validation and test, got path"):
        JsonlSourceConfig(path=tmp_path, test=tmp_path)


def test_training_documents_are_for_validation_where_no_file_is(tmp_path: Path) -> None:
    train = write(tmp_path / "train", *(row(str(number)) for number in range(200)))
    config = JsonlSourceConfig(train=train, test=write(tmp_path / "test", row("test")), validation_share=0.2)
    splits = {example.id: example.split for example in config.rows() if isinstance(example, Example)}
    assert splits.pop("test") == "test"
    counts = {split: list(splits.values()).count(split) for split in set(splits.values())}
    assert set(counts) == {"train", "validation"}
    assert counts["validation"] == pytest.approx(40, abs=20)
    write(train, *(row(str(number)) for number in reversed(range(200))))
    again = {example.id: example.split for example in config.rows() if isinstance(example, Example)}
    assert again == {**splits, "test": "test"}
