import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sumpool.data.config import Example, Reject
from sumpool.data.sources import DatasetsSourceConfig, is_dataset
from sumpool.errors import DataError

Row = dict[str, Any]


def save(folder: Path, *shards: list[Row], batch: int = 2) -> Path:
    """Write the files that `datasets.Dataset.save_to_disk` writes."""
    folder.mkdir(parents=True)
    names = [f"data-{number:05}-of-{len(shards):05}.arrow" for number in range(len(shards))]
    for name, rows in zip(names, shards, strict=True):
        table = pa.Table.from_pylist(rows)
        with pa.ipc.new_stream(folder / name, table.schema) as stream:
            stream.write_table(table, max_chunksize=batch)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
    (folder / "dataset_info.json").write_text("{}")
    return folder


def save_dict(folder: Path, **parts: list[Row]) -> Path:
    for name, rows in parts.items():
        save(folder / name, rows)
    (folder / "dataset_dict.json").write_text(json.dumps({"splits": list(parts)}))
    return folder


def row(name: object = "a", document: object = "A document.", summary: object = "A summary.") -> Row:
    return {"id": name, "article": document, "highlights": summary}


def test_files_of_a_dataset_are_read_in_the_order_of_its_state(tmp_path: Path) -> None:
    folder = save(tmp_path / "data", [row(str(number)) for number in range(5)], [row("5"), row("6")])
    state = json.loads((folder / "state.json").read_text())
    state["_data_files"].reverse()
    (folder / "state.json").write_text(json.dumps(state))
    rows = list(DatasetsSourceConfig(train=folder).rows())
    assert [example.id for example in rows if isinstance(example, Example)] == list("5601234")
    assert list(DatasetsSourceConfig(path=folder).notes()) == [
        f"{folder}: read 'article' as document, 'highlights' as summary and 'id' as id"
    ]
    assert len(list(DatasetsSourceConfig(path=folder).files())) == 4


def test_row_number_in_the_dataset_is_the_location(tmp_path: Path) -> None:
    plain = [{"text": f"Text {number}.", "summary": "Short."} for number in range(3)]
    folder = save(tmp_path / "data", plain, [{"text": " ", "summary": "Short."}])
    *rows, rejected = DatasetsSourceConfig(train=folder).rows()
    assert [example.id for example in rows if isinstance(example, Example)] == [f"{folder}:{n}" for n in (1, 2, 3)]
    assert rejected == Reject(f"{folder}:4", "'text' must contain text, got an empty one")


def test_parts_of_a_dictionary_are_splits(tmp_path: Path) -> None:
    folder = save_dict(tmp_path / "data", test=[row("3")], train=[row("1")], validation=[row("2")])
    rows = [
        (example.id, example.split)
        for example in DatasetsSourceConfig(path=folder).rows()
        if isinstance(example, Example)
    ]
    assert rows == [("1", "train"), ("2", "validation"), ("3", "test")]


def test_single_part_of_a_dictionary_is_split_by_id(tmp_path: Path) -> None:
    folder = save_dict(tmp_path / "data", corpus=[row(str(number)) for number in range(100)])
    config = DatasetsSourceConfig(path=folder, validation_share=0.2, test_share=0.2)
    assert {row.split for row in config.rows() if isinstance(row, Example)} == {"train", "validation", "test"}


def test_other_parts_must_be_named(tmp_path: Path) -> None:
    folder = save_dict(tmp_path / "data", train=[row("1")], dev=[row("2")])
    message = r"data must have parts named train, validation, test, got 'train', 'dev'; set data\.source\.train"
    for config in (DatasetsSourceConfig(path=folder), DatasetsSourceConfig(train=folder)):
        with pytest.raises(DataError, match=message):
            list(config.rows())
    named = DatasetsSourceConfig(train=folder / "train", validation=folder / "dev")
    assert [row.split for row in named.rows() if isinstance(row, Example)] == ["train", "validation"]


def test_folder_of_something_else_is_an_error(tmp_path: Path) -> None:
    assert not is_dataset(tmp_path)
    with pytest.raises(DataError, match=r"must be a dataset saved by save_to_disk, got no state\.json in it"):
        list(DatasetsSourceConfig(path=tmp_path).rows())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"state\.json must be JSON, got"),
        ("[]", r"state\.json must hold a JSON object, got list"),
        ('{"_data_files": [{"filename": "../x"}]}', r"state\.json must list files of its folder, without indices"),
        ('{"_data_files": [{}]}', r"state\.json must list files of its folder"),
        ('{"_data_files": [], "_indices_data_files": [{"filename": "i"}]}', "without indices; save the dataset again"),
        ('{"_data_files": [{"filename": "none.arrow"}]}', r"none\.arrow must be an Arrow stream, got"),
    ],
)
def test_damaged_state_is_an_error(tmp_path: Path, content: str, message: str) -> None:
    folder = save(tmp_path / "data", [row()])
    (folder / "state.json").write_text(content)
    with pytest.raises(DataError, match=message):
        list(DatasetsSourceConfig(path=folder).rows())


@pytest.mark.parametrize("content", ['{"splits": ["../x"]}', '{"splits": [".."]}', '{"splits": "train"}', "{}"])
def test_damaged_dictionary_is_an_error(tmp_path: Path, content: str) -> None:
    folder = save_dict(tmp_path / "data", train=[row()])
    (folder / "dataset_dict.json").write_text(content)
    with pytest.raises(DataError, match=r"dataset_dict\.json must have a list of names as 'splits'"):
        list(DatasetsSourceConfig(path=folder).rows())


def test_damaged_files_are_errors(tmp_path: Path) -> None:
    folder = save(tmp_path / "data", [row(str(number)) for number in range(40)])
    (file,) = folder.glob("*.arrow")
    content = file.read_bytes()
    file.write_bytes(content[:-8])
    with pytest.raises(DataError, match=r"arrow must be a complete Arrow stream, got one without an end"):
        list(DatasetsSourceConfig(path=folder).rows())
    file.write_bytes(content[: len(content) // 2] + content[-8:])
    with pytest.raises(DataError, match=r"arrow must be complete, got: [^\n]* after row \d+; get the file again"):
        list(DatasetsSourceConfig(path=folder).rows())
    file.write_bytes(b"nothing of the kind" + content[-8:])
    with pytest.raises(DataError, match=r"arrow must be an Arrow stream, got"):
        list(DatasetsSourceConfig(path=folder).rows())


def test_dataset_without_files_has_no_rows(tmp_path: Path) -> None:
    assert list(DatasetsSourceConfig(path=save(tmp_path / "data")).rows()) == []
