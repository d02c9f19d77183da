import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from sumpool.data.config import Example, Reject
from sumpool.data.sources import DatasetsSourceConfig, is_dataset
from sumpool.errors import DataError
from tests.data.sources.conftest import examples, row


def save(folder: Path, *shards: Sequence[Mapping[str, object]], batch: int = 2) -> Path:
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


def save_dict(folder: Path, **parts: Sequence[Mapping[str, object]]) -> Path:
    for name, rows in parts.items():
        save(folder / name, rows)
    (folder / "dataset_dict.json").write_text(json.dumps({"splits": list(parts)}))
    return folder


def test_files_of_a_dataset_are_read_in_the_order_of_its_state(tmp_path: Path) -> None:
    folder = save(tmp_path / "data", [row(str(number)) for number in range(5)], [row("5"), row("6")])
    state = json.loads((folder / "state.json").read_text())
    state["_data_files"].reverse()
    (folder / "state.json").write_text(json.dumps(state))
    assert [example.id for example in examples(DatasetsSourceConfig(train=folder))] == list("5601234")
    assert list(DatasetsSourceConfig(path=folder).notes()) == [
        f"{folder}: read 'document' as document, 'summary' as summary and 'id' as id"
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
    rows = [(example.id, example.split) for example in examples(DatasetsSourceConfig(path=folder))]
    assert rows == [("1", "train"), ("2", "validation"), ("3", "test")]
    folder = save_dict(tmp_path / "single", corpus=[row(str(number)) for number in range(100)])
    config = DatasetsSourceConfig(path=folder, validation_share=0.2, test_share=0.2)
    assert {example.split for example in examples(config)} == {"train", "validation", "test"}


def test_other_parts_must_be_named(tmp_path: Path) -> None:
    folder = save_dict(tmp_path / "data", train=[row("1")], dev=[row("2")])
    message = r"data must have parts named train, validation, test, got 'train', 'dev'; set data\.source\.train"
    for config in (DatasetsSourceConfig(path=folder), DatasetsSourceConfig(train=folder)):
        with pytest.raises(DataError, match=message):
            list(config.rows())
    named = DatasetsSourceConfig(train=folder / "train", validation=folder / "dev")
    assert [example.split for example in examples(named)] == ["train", "validation"]


def test_folder_of_something_else_is_an_error(tmp_path: Path) -> None:
    assert not is_dataset(tmp_path)
    with pytest.raises(DataError, match=r"must be a dataset saved by save_to_disk, got no state\.json in it"):
        list(DatasetsSourceConfig(path=tmp_path).rows())
    assert list(DatasetsSourceConfig(path=save(tmp_path / "empty")).rows()) == []


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
