import gzip
from pathlib import Path

import pytest

from sumpool.data.config import Example, Fields, Reject
from sumpool.errors import DataError
from sumpool.tasks.classification.labels import LabelledSourceConfig
from tests.data.sources.conftest import write_lines


def read(path: Path, **settings: str) -> list[Example | Reject]:
    return list(LabelledSourceConfig.model_validate({"train": path, "validation_share": 0, **settings}).rows())


def test_labels_are_texts_numbers_and_truth_values(tmp_path: Path) -> None:
    for label, name in [("pos", "pos"), (" two\n words", "two words"), (3, "3"), (-1, "-1"), (True, "true")]:
        path = write_lines(tmp_path / "rows.jsonl", {"id": 7, "text": "A text.", "label": label})
        assert read(path) == [Example("7", "A text.", name, "train")]
    path = write_lines(tmp_path / "rows.jsonl", {"id": "a", "text": [0, 255, 7], "label": 1})
    assert read(path) == [Example("a", "0 255 7", "1", "train")]


def test_fields_are_guessed_or_named(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", {"review": "A text.", "stars": 5, "content": "Other.", "class": "x"})
    assert read(path) == [Example(f"{path}:1", "Other.", "x", "train")]
    assert read(path, text="review", label="stars") == [Example(f"{path}:1", "A text.", "5", "train")]
    source = LabelledSourceConfig(path=path)
    assert source.field_names() == Fields("content", "class", None)
    assert list(source.notes()) == [
        f"{path}: read 'content' as document, 'class' as label and the location in the file as id"
    ]
    assert not list(LabelledSourceConfig(path=path, text="review", label="stars", id="stars").notes())


def test_tables_in_text_are_read(tmp_path: Path) -> None:
    for name, separator in [("rows.csv", ","), ("rows.TSV", "\t"), ("rows.csv.gz", ",")]:
        content = separator.join(("id", "text", "label", "other")) + "\n"
        content += separator.join(("a", '"One, ""two""."', "3", "Other.")) + "\nb\n"
        path = tmp_path / name
        path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
        row, short = read(path, second="other")
        assert row == Example("a", 'One, "two".', "3", "train", "Other.")
        assert short == Reject(f"{path}:3", "must have 4 cells like the header, got 1")
        (tmp_path / "other.csv").write_text("text,stars\nOne.,3\n")
        with pytest.raises(
            DataError, match=r"must have a field that looks like a label, got 'text', 'stars'; set data\."
        ):
            read(tmp_path / "other.csv")


def test_parquet_is_read(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    columns = {"id": ["a", "b"], "text": ["One.", "Three."], "label": [True, None], "other": ["Two.", "Four."]}
    parquet.write_table(pyarrow.table(columns), path)
    row, missing = read(path, second="other")
    assert row == Example("a", "One.", "true", "train", "Two.")
    assert isinstance(missing, Reject)
    assert missing.where == f"{path}:2"
    (unnamed, *_) = read(path, text="body")
    assert unnamed == Reject(f"{path}:1", "must have a field 'body', got 'id', 'label'")


def test_pairs_have_a_second_document(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", {"id": "a", "text": "One.", "other": "Two.", "label": 0})
    (row,) = read(path, second="other")
    assert row == Example("a", "One.", "0", "train", "Two.")
    assert isinstance(row, Example)
    assert row.text == "One.\n\nTwo."


def test_unusable_rows_are_rejected(tmp_path: Path) -> None:
    for row, reason in [
        ({"text": "A text."}, "must have a field 'label', got 'text'"),
        ({"text": "A text.", "label": ""}, "'label' must contain text, got an empty one"),
        ({"text": "A text.", "label": 1.5}, "'label' must be text, got float"),
        ({"text": ["a"], "label": 1}, "'text' must be text, got list"),
        ({"text": [], "label": 1}, "'text' must be text, got list"),
        (3, "must be a JSON object, got int"),
    ]:
        path = write_lines(tmp_path / "rows.jsonl", {"text": "A text.", "label": 1}, row)
        assert read(path)[1] == Reject(f"{path}:2", reason)
