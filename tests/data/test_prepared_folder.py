import errno
import json
import os
import threading
from pathlib import Path

import pytest

from sumpool.data.config import DataConfig
from sumpool.data.prepared_folder import (
    content_digest,
    find_by_content,
    find_or_prepare,
    find_prepared,
    prepared_folders,
)
from sumpool.data.report import DataReport, remembered_fields
from sumpool.errors import RecipeError
from sumpool.progress import Progress, no_op

TEXT = "The router sends a packet to the network. The header of the packet holds an address."


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    rows = ({"id": f"d{number}", "body": f"{TEXT} {number}", "summary": "A packet is sent."} for number in range(40))
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def config(source: Path, **settings: object) -> DataConfig:
    data = {"source": {"kind": "jsonl", "path": source}, "vocabulary": 300, "workers": 1, **settings}
    return DataConfig.model_validate(data)


def prepare(data: DataConfig, default: Path) -> tuple[Path, DataReport, list[Progress]]:
    reports: list[Progress] = []
    return *find_or_prepare(data, default, skip_bad_rows=False, report=reports.append, check=no_op), reports


def is_new(reports: list[Progress]) -> bool:
    return any(report.task == "prepare: tokens" for report in reports)


def test_equal_data_is_prepared_once_for_recipes_of_two_names(source: Path, tmp_path: Path) -> None:
    first, report, reports = prepare(config(source), tmp_path / "prepared" / "one")
    assert (first, is_new(reports)) == (tmp_path / "prepared" / "one", True)
    second, again, reports = prepare(config(source, workers=2), tmp_path / "prepared" / "two")
    assert (second, again, is_new(reports)) == (first, report, False)
    assert [step.note for step in reports] == [f"the prepared data of these documents and settings is {first}"]
    assert prepared_folders(tmp_path / "prepared") == [first]


def test_renamed_data_is_used(source: Path, tmp_path: Path) -> None:
    first, *_ = prepare(config(source), tmp_path / "prepared" / "one")
    renamed = first.rename(tmp_path / "prepared" / "other")
    folder, _, reports = prepare(config(source), first)
    assert (folder, is_new(reports)) == (renamed, False)


def test_changed_settings_and_documents_go_beside(source: Path, tmp_path: Path) -> None:
    default = tmp_path / "prepared" / "one"
    first, *_ = prepare(config(source), default)
    digest = content_digest(first)
    larger, _, reports = prepare(config(source, vocabulary=310), default)
    assert is_new(reports)
    source.write_text(source.read_text().replace("router", "server"))
    changed, _, reports = prepare(config(source), default)
    assert is_new(reports)
    assert len({first, larger, changed}) == 3
    assert all(folder.name.startswith("one-") for folder in (larger, changed))
    assert content_digest(first) == digest


def test_new_times_of_equal_files_are_no_change(source: Path, tmp_path: Path) -> None:
    default = tmp_path / "prepared" / "one"
    first, *_ = prepare(config(source), default)
    os.utime(source, ns=(5, 5))
    assert not is_new(prepare(config(source), default)[2])
    content = source.read_text()
    source.write_text(content.replace("router", "server"))  # of equal size
    os.utime(source, ns=(6, 6))
    folder, _, reports = prepare(config(source), default)
    assert folder != first
    assert is_new(reports)


def test_named_folder_is_used_and_other_data_in_it_kept(source: Path, tmp_path: Path) -> None:
    prepare(config(source), tmp_path / "prepared" / "one")
    named, _, reports = prepare(config(source, prepared=tmp_path / "disk" / "mine"), tmp_path / "prepared" / "one")
    assert (named, is_new(reports)) == (tmp_path / "disk" / "mine", True)
    changed = config(source, prepared=named, vocabulary=310)
    beside, _, reports = prepare(changed, tmp_path / "prepared" / "one")
    assert beside.name.startswith("mine-")
    assert is_new(reports)
    assert not is_new(prepare(changed, tmp_path / "x")[2])
    assert not is_new(prepare(config(source, prepared=named), tmp_path / "x")[2])


def test_damaged_data_is_named_and_left_alone(source: Path, tmp_path: Path) -> None:
    first, *_ = prepare(config(source), tmp_path / "prepared" / "one")
    (first / "train" / "tokens.bin").write_bytes(b"")
    with pytest.raises(RecipeError, match=r"one must be prepared data as it was .*train/tokens\.bin must hold"):
        prepare(config(source), tmp_path / "prepared" / "one")
    assert (first / "train" / "tokens.bin").read_bytes() == b""


def test_two_recipes_at_once_prepare_once(source: Path, tmp_path: Path) -> None:
    results: list[tuple[Path, DataReport, list[Progress]]] = []
    threads = [
        threading.Thread(
            target=lambda name: results.append(prepare(config(source), tmp_path / "p" / name)), args=(name,)
        )
        for name in ("one", "two")
    ]
    (tmp_path / "p").mkdir()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({folder for folder, *_ in results}) == 1
    assert sorted(is_new(reports) for *_, reports in results) == [False, True]


def test_data_is_found_by_its_content(source: Path, tmp_path: Path) -> None:
    first, *_ = prepare(config(source), tmp_path / "prepared" / "one")
    (tmp_path / "prepared" / "broken").mkdir()
    (tmp_path / "prepared" / "broken" / "manifest.json").write_text("{")
    assert find_by_content(content_digest(first), tmp_path / "prepared") == first
    assert find_by_content("another", tmp_path / "prepared") is None


def test_field_names_are_remembered(source: Path, tmp_path: Path) -> None:
    folder, report, _ = prepare(config(source), tmp_path / "prepared" / "one")
    assert report.fields is not None
    assert (report.fields.document, report.fields.summary, report.fields.id) == ("body", "summary", "id")
    assert DataReport.load(folder) == report
    assert remembered_fields(folder) == report.fields
    content = json.loads((folder / "report.json").read_text())
    del content["fields"]
    (tmp_path / "report.json").write_text(json.dumps(content))  # of an older version
    assert DataReport.load(tmp_path).fields is None
    assert remembered_fields(tmp_path / "none") is None


def test_missing_source_has_a_folder(tmp_path: Path) -> None:
    assert find_prepared(config(tmp_path / "none"), tmp_path / "new", no_op) is None


@pytest.mark.parametrize("times", ["same", "new"])
def test_read_only_data_is_used_without_a_lock(
    source: Path, tmp_path: Path, times: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, *_ = prepare(config(source), tmp_path / "prepared" / "one")
    if times == "new":
        os.utime(source, ns=(5, 5))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    def refuse(self: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(self))

    monkeypatch.setenv("SUMPOOL_CACHE", str(tmp_path / "cache"))
    for name in ("mkdir", "write_bytes", "touch"):
        monkeypatch.setattr(Path, name, refuse)
    monkeypatch.setattr("sumpool.data.prepared_folder.locked", refuse)
    assert prepare(config(source), folder)[0] == folder
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
