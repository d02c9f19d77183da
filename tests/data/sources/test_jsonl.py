from collections import Counter
from pathlib import Path

import pytest
from pydantic import ValidationError

from sumpool.data.config import Example, Reject
from sumpool.data.sources import JsonlSourceConfig
from sumpool.errors import DataError
from tests.data.sources.conftest import examples, row, write_lines


def test_files_per_split_are_read(tmp_path: Path) -> None:
    config = JsonlSourceConfig(
        train=write_lines(tmp_path / "a", row("1"), row(2)),
        validation=write_lines(tmp_path / "b", row("3")),
        test=write_lines(tmp_path / "c", row("4")),
    )
    assert list(config.rows()) == [
        Example("1", "A document.", "A summary.", "train"),
        Example("2", "A document.", "A summary.", "train"),
        Example("3", "A document.", "A summary.", "validation"),
        Example("4", "A document.", "A summary.", "test"),
    ]
    assert list(JsonlSourceConfig(path=write_lines(tmp_path / "empty")).rows()) == []


def test_rows_without_a_split_are_divided_by_their_ids(tmp_path: Path) -> None:
    rows = [row(str(number)) for number in range(200)]
    train, test = write_lines(tmp_path / "train", *rows), write_lines(tmp_path / "test", row("test"))
    for config, expected in (
        (JsonlSourceConfig(path=train, validation_share=0.2, test_share=0.2), {"train", "validation", "test"}),
        (JsonlSourceConfig(train=train, test=test, validation_share=0.2), {"train", "validation"}),
    ):
        write_lines(train, *rows)
        splits = {example.id: example.split for example in examples(config)}
        write_lines(train, *rows[::-1])
        assert {example.id: example.split for example in examples(config)} == splits
        splits.pop("test", None)
        assert set(splits.values()) == expected
        assert Counter(splits.values())["validation"] == pytest.approx(40, abs=20)


def test_field_names_are_guessed_and_noted_unless_they_are_set(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    cases: tuple[tuple[dict[str, object], dict[str, str], str, list[str]], ...] = (
        (
            {"article_id": 7, "title": "t", "article": "Text.", "highlights": "Short."},
            {},
            "7",
            [f"{path}: read 'article' as document, 'highlights' as summary and 'article_id' as id"],
        ),
        (
            {"text": "Text.", "summary": "Short."},
            {},
            f"{path}:1",
            [f"{path}: read 'text' as document, 'summary' as summary and the location in the file as id"],
        ),
        (
            {"key": "k", "long": "Text.", "short": "Short.", "document": "no"},
            {"document": "long", "summary": "short", "id": "key"},
            "k",
            [],
        ),
    )
    for fields, settings, name, notes in cases:
        write_lines(path, fields)
        config = JsonlSourceConfig.model_validate({"train": path, "validation_share": 0, **settings})
        assert list(config.rows()) == [Example(name, "Text.", "Short.", "train")]
        assert list(config.notes()) == notes


def test_invalid_row_is_rejected_with_its_line(tmp_path: Path) -> None:
    for bad, reason in [
        (row(document=""), "'document' must contain text, got an empty one"),
        (row(document=["a"]), "'document' must be text, got list"),
        (row(summary=None), "'summary' must be text, got NoneType"),
        (row(name=True), "'id' must be text, got bool"),
        (row(document="a\0"), "'document' must be text, got a null character"),
        ({"id": "a", "document": "A"}, "must have a field 'summary', got 'id', 'document'"),
        ([1], "must be a JSON object, got list"),
    ]:
        path = write_lines(tmp_path / "x.jsonl", row("good"), bad, row("last"))
        good, rejected, last = JsonlSourceConfig(train=path, validation_share=0).rows()
        assert isinstance(good, Example)
        assert isinstance(last, Example)
        assert isinstance(rejected, Reject)
        assert rejected.where == f"{path}:2"
        assert rejected.reason.startswith(reason)


def test_fields_without_usual_names_are_an_error(tmp_path: Path) -> None:
    for fields, missing in [({"summary": "s"}, "document"), ({"text": "t"}, "summary")]:
        path = write_lines(tmp_path / "x", {"other": "o", **fields})
        message = f"must have a field that looks like a {missing}, got 'other', .*; set data.source.{missing} to its"
        with pytest.raises(DataError, match=message):
            list(JsonlSourceConfig(path=path).rows())


def test_path_excludes_files_per_split(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="must have either path, or train with validation and test"):
        JsonlSourceConfig()
    with pytest.raises(ValidationError, match="must have either path, or train with validation and test, got path"):
        JsonlSourceConfig(path=tmp_path, test=tmp_path)
