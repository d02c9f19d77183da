import errno
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest

from sumpool.data import prepared_folder
from sumpool.data.config import DataConfig
from sumpool.data.prepared_folder import (
    CACHE,
    SETTLED_SECONDS,
    content_digest,
    find_by_content,
    find_or_prepare,
    find_prepared,
    fingerprint,
    prepared_folders,
    read_origin,
    verify_prepared,
    write_manifest,
)
from sumpool.data.report import DataReport
from sumpool.errors import DataError, Interrupted, RecipeError
from sumpool.io.manifest import Manifest
from sumpool.progress import Progress, no_op
from sumpool.tasks.language_modeling.config import TextDataConfig
from sumpool.tasks.language_modeling.sources import TextSourceConfig

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
    folder = find_or_prepare(data, default, skip_bad_rows=False, report=reports.append, check=no_op)
    return folder, DataReport.load(folder), reports


def is_new(reports: list[Progress]) -> bool:
    return any(report.task == "prepare: tokens" for report in reports)


def test_equal_data_is_prepared_once_whatever_the_names_of_recipe_and_folder(source: Path, tmp_path: Path) -> None:
    first, report, reports = prepare(config(source), tmp_path / "prepared" / "one")
    assert (first, is_new(reports)) == (tmp_path / "prepared" / "one", True)
    second, again, reports = prepare(config(source, workers=2), tmp_path / "prepared" / "two")
    assert (second, again, is_new(reports)) == (first, report, False)
    assert [step.note for step in reports] == [f"the prepared data of these documents and settings is {first}"]
    assert sorted(path.name for path in tmp_path.rglob("*.lock*")) == []
    assert prepared_folders(tmp_path / "prepared") == [first]
    renamed = first.rename(tmp_path / "prepared" / "other")
    folder, _, reports = prepare(config(source), first)
    assert (folder, is_new(reports)) == (renamed, False)


def test_changed_settings_and_documents_go_beside(source: Path, tmp_path: Path) -> None:
    default = tmp_path / "prepared" / "one"
    first, *_ = prepare(config(source), default)
    digest = content_digest(first)
    larger, _, reports = prepare(config(source, vocabulary=310), default)
    assert is_new(reports)
    os.utime(source, ns=(5, 5))  # new times of equal files are no change
    assert not is_new(prepare(config(source), default)[2])
    assert read_origin(first)["fingerprint"] == fingerprint(config(source))
    source.write_text(source.read_text().replace("router", "server"))  # of equal size
    changed, _, reports = prepare(config(source), default)
    assert is_new(reports)
    assert len({first, larger, changed}) == 3
    assert all(folder.name.startswith("one-") for folder in (larger, changed))
    assert content_digest(first) == digest


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
    with ThreadPoolExecutor(2) as threads:
        results = list(threads.map(partial(prepare, config(source)), [tmp_path / "one", tmp_path / "two"]))
    assert len({folder for folder, *_ in results}) == 1
    assert sorted(is_new(reports) for *_, reports in results) == [False, True]


def test_the_process_that_is_waited_for_is_reported_once(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def busy(_: Path, on_busy: Callable[[str], None]) -> Iterator[None]:
        for holder in ("unknown", "17", "17", "18"):
            on_busy(holder)
        yield

    monkeypatch.setattr(prepared_folder, "locked", busy)
    folder, _, reports = prepare(config(source), tmp_path / "prepared" / "one")
    said = [report.note for report in reports if report.note.startswith("waiting")]
    assert said == [f"waiting for process {holder}, which is writing {folder}" for holder in (17, 18)]
    checked = Mock(side_effect=Interrupted(signal.SIGINT))
    with pytest.raises(Interrupted):
        find_or_prepare(config(source), tmp_path / "new" / "one", skip_bad_rows=False, report=no_op, check=checked)
    assert checked.call_count == 1


def test_data_is_found_by_its_content(source: Path, tmp_path: Path) -> None:
    folder, report, _ = prepare(config(source), tmp_path / "prepared" / "one")
    (tmp_path / "prepared" / "broken").mkdir()
    (tmp_path / "prepared" / "broken" / "manifest.json").write_text("{")
    assert find_by_content(content_digest(folder), tmp_path / "prepared") == folder
    assert find_by_content("another", tmp_path / "prepared") is None
    assert report.fields is not None
    assert (report.fields.document, report.fields.summary, report.fields.id) == ("body", "summary", "id")
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


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Names of the files that are hashed."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    names: list[str] = []
    verify = Manifest.verify

    def count(manifest: Manifest, folder: Path, listed: list[str], check: object) -> None:
        names.extend(listed)
        verify(manifest, folder, listed, check)  # type: ignore[arg-type]

    monkeypatch.setattr(Manifest, "verify", count)
    return names


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    (folder / "test").mkdir(parents=True)
    (folder / "report.json").write_text("{}")
    (folder / "test" / "texts.jsonl").write_text("Hosts send datagrams.")
    write_manifest(folder, {}, no_op)
    past = time.time() - 10 * SETTLED_SECONDS
    for path in folder.rglob("*"):
        os.utime(path, (past, past))
    return folder


def test_files_are_hashed_once(folder: Path, hashed: list[str]) -> None:
    verify_prepared(folder)
    assert sorted(hashed) == ["report.json", "test/texts.jsonl"]
    verify_prepared(folder)
    verify_prepared(folder / ".." / folder.name)
    assert len(hashed) == 2
    verify_prepared(folder, full=True)
    assert len(hashed) == 4


def test_changed_files_are_hashed_again(folder: Path, hashed: list[str]) -> None:
    verify_prepared(folder)
    hashed.clear()
    os.utime(folder / "report.json", (1, 1))
    verify_prepared(folder)
    (folder / "copy").write_bytes((folder / "report.json").read_bytes())
    os.utime(folder / "copy", (1, 1))
    (folder / "copy").rename(folder / "report.json")
    verify_prepared(folder)
    assert hashed == ["report.json", "report.json"]


@pytest.mark.parametrize("times", ["new", "restored"])
def test_changed_letters_are_named(folder: Path, hashed: list[str], times: str) -> None:
    verify_prepared(folder)
    hashed.clear()
    path = folder / "test" / "texts.jsonl"
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        path.write_text("Hosts send Datagrams.")
    if times == "restored":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    for _ in range(2):
        with pytest.raises(DataError, match=r"test/texts\.jsonl must hold 21 bytes .* it is damaged or was changed"):
            verify_prepared(folder)


@pytest.mark.usefixtures("hashed")
def test_sizes_are_compared_every_time(folder: Path) -> None:
    verify_prepared(folder)
    path = folder / "test" / "texts.jsonl"
    path.write_text(path.read_text()[:-1])
    with pytest.raises(DataError, match=r"test/texts\.jsonl must hold"):
        verify_prepared(folder)
    path.unlink()
    with pytest.raises(DataError, match=r"test/texts\.jsonl must be readable"):
        verify_prepared(folder)


def test_recent_changes_are_not_remembered(folder: Path, hashed: list[str]) -> None:
    (folder / "report.json").touch()
    for _ in range(2):
        verify_prepared(folder)
    assert sorted(hashed) == ["report.json", "report.json", "test/texts.jsonl"]


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"files": 1}', b'{"files": {"report.json": "x"}}'])
def test_a_damaged_cache_is_ignored(folder: Path, hashed: list[str], tmp_path: Path, content: bytes) -> None:
    verify_prepared(folder)
    (cache,) = (tmp_path / "cache").rglob("*.json")
    cache.write_bytes(content)
    verify_prepared(folder)
    verify_prepared(folder)
    assert len(hashed) == 4


def test_without_a_cache_everything_is_hashed(folder: Path, hashed: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").touch()  # no folder
    for _ in range(2):
        verify_prepared(folder)
    assert len(hashed) == 4


@pytest.mark.usefixtures("hashed")
def test_hashing_can_be_stopped(folder: Path) -> None:
    with pytest.raises(Interrupted):
        verify_prepared(folder, check=Mock(side_effect=Interrupted(2)))


def fingerprint_of(path: Path, **settings: object) -> str:
    source = {"kind": "folder", "path": path}
    return fingerprint(DataConfig.model_validate({"source": source, "vocabulary": 400, **settings}))


def test_fingerprint_depends_on_settings_and_files(source: Path) -> None:
    before = fingerprint_of(source)
    assert fingerprint_of(source, workers=7) == before
    assert len({before, *(fingerprint_of(source, phrases=phrases) for phrases in (500, 501))}) == 3
    assert fingerprint_of(source, vocabulary=401) != before
    assert fingerprint_of(source, source={"kind": "csv", "path": source}) != before
    os.utime(source, ns=(1, 1))
    touched = fingerprint_of(source)
    assert touched != before
    source.write_text("contents")
    os.utime(source, ns=(1, 1))
    assert fingerprint_of(source) != touched
    source.unlink()
    assert len(fingerprint_of(source)) == len(before)  # the source itself says what is missing


def test_fingerprint_depends_on_the_cleaning_of_rfcs(monkeypatch: pytest.MonkeyPatch) -> None:
    config = DataConfig.model_validate({"source": {"kind": "rfc"}})
    before = fingerprint(config)
    monkeypatch.setattr("sumpool.data.sources.RfcSourceConfig.revision", 10**6)
    assert fingerprint(config) != before


def test_fingerprint_depends_on_the_settings_of_running_text(tmp_path: Path) -> None:
    data = TextDataConfig(source=TextSourceConfig(kind="plain", path=tmp_path))
    changes: list[dict[str, object]] = [{}, {"subwords": 40}, {"max_characters": 9}, {"vocabulary_from": "all"}]
    assert len({fingerprint(data.model_copy(update=change)) for change in changes}) == len(changes)
    assert fingerprint(data.model_copy(update={"verify": True})) == fingerprint(data)


def test_fingerprint_depends_on_the_tokenizer(source: Path, tmp_path: Path) -> None:
    for name, content in (("one", "a"), ("copy", "a"), ("other", "b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tokenizer.json").write_text(content)
        (tmp_path / name / "vocabulary.json").write_text("{}")
    one, copy, other, none = (
        fingerprint_of(source, tokenizer=tmp_path / name, vocabulary=None) for name in ("one", "copy", "other", "none")
    )
    assert one == copy == fingerprint_of(source, tokenizer=tmp_path / "one")
    assert len({one, other, none, fingerprint_of(source)}) == 4


def test_content_digest_depends_on_files_only(folder: Path, tmp_path: Path) -> None:
    before = content_digest(folder)
    moved = folder.rename(tmp_path / "moved")
    (moved / "manifest.json").unlink()
    write_manifest(moved, {"fingerprint": "made from that"}, no_op)
    assert content_digest(tmp_path / "moved") == before
    assert read_origin(tmp_path / "moved") == {"fingerprint": "made from that"}
    (tmp_path / "moved" / "manifest.json").unlink()
    assert read_origin(tmp_path / "moved") == {}
    with pytest.raises(DataError, match=r"manifest\.json must be readable"):
        content_digest(tmp_path / "moved")
