import errno
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sumpool.data.config import DataConfig, Example, Reject, SourceConfig
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
from sumpool.data.report import DataReport, remembered_fields
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


def test_equal_data_is_prepared_once_for_recipes_of_two_names(source: Path, tmp_path: Path) -> None:
    first, report, reports = prepare(config(source), tmp_path / "prepared" / "one")
    assert (first, is_new(reports)) == (tmp_path / "prepared" / "one", True)
    second, again, reports = prepare(config(source, workers=2), tmp_path / "prepared" / "two")
    assert (second, again, is_new(reports)) == (first, report, False)
    assert [step.note for step in reports] == [f"the prepared data of these documents and settings is {first}"]
    assert sorted(path.name for path in tmp_path.rglob("*.lock*")) == []
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
    assert remembered_fields(folder) == report.fields
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
    for path in folder.rglob("*"):
        make_older(path)
    return folder


def make_older(path: Path) -> None:
    past = time.time() - 10 * SETTLED_SECONDS
    os.utime(path, (past, past))


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


@pytest.mark.parametrize("change", ["cut", "longer", "missing"])
def test_sizes_are_compared_every_time(folder: Path, hashed: list[str], change: str) -> None:
    del hashed
    verify_prepared(folder)
    path = folder / "test" / "texts.jsonl"
    if change == "missing":
        path.unlink()
    else:
        path.write_text(path.read_text()[:-1] if change == "cut" else path.read_text() + "x")
    with pytest.raises(DataError, match=r"test/texts\.jsonl must (hold|be readable)"):
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


def test_a_damaged_manifest_is_named(folder: Path) -> None:
    for content in ["", "[]", "{}", '{"schema": 1, "fingerprint": "made from this"}', "null"]:
        (folder / "manifest.json").write_text(content)
        with pytest.raises(DataError, match=r"manifest\.json must be a manifest"):
            verify_prepared(folder)


def test_hashing_can_be_stopped(folder: Path, hashed: list[str]) -> None:
    del hashed

    def stop() -> None:
        raise Interrupted(2)

    with pytest.raises(Interrupted):
        verify_prepared(folder, check=stop)


class FileConfig(SourceConfig):
    """A source that is a file."""

    kind: str = "file"
    path: Path
    field: str = "text"

    def rows(self) -> Iterator[Example | Reject]:
        yield from ()


@pytest.fixture
def source_file(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_text("content")
    return path


def fingerprint_of(path: Path, field: str = "text", vocabulary: int = 400, phrases: int = 0, workers: int = 2) -> str:
    source_file = FileConfig(path=path, field=field)
    return fingerprint(
        DataConfig.model_construct(source=source_file, vocabulary=vocabulary, phrases=phrases, workers=workers)
    )


def test_fingerprint_depends_on_settings_and_files(source_file: Path) -> None:
    before = fingerprint_of(source_file)
    assert fingerprint_of(source_file) == before
    assert fingerprint_of(source_file, workers=7) == before
    assert fingerprint_of(source_file, vocabulary=401) != before
    assert fingerprint_of(source_file, field="body") != before
    assert len({before, fingerprint_of(source_file, phrases=500), fingerprint_of(source_file, phrases=501)}) == 3
    os.utime(source_file, ns=(1, 1))
    touched = fingerprint_of(source_file)
    assert touched != before
    source_file.write_text("contents")
    os.utime(source_file, ns=(1, 1))
    assert fingerprint_of(source_file) != touched
    source_file.unlink()
    assert len(fingerprint_of(source_file)) == len(before)  # the source itself says what is missing


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


def test_fingerprint_depends_on_the_tokenizer(source_file: Path, tmp_path: Path) -> None:
    def taken(tokenizer: Path, vocabulary: int | None = None) -> str:
        source_config = FileConfig(path=source_file, field="text")
        return fingerprint(DataConfig.model_construct(source=source_config, tokenizer=tokenizer, vocabulary=vocabulary))

    for name, content in (("one", "a"), ("copy", "a"), ("other", "b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tokenizer.json").write_text(content)
        (tmp_path / name / "vocabulary.json").write_text("{}")
    assert taken(tmp_path / "one") == taken(tmp_path / "copy") == taken(tmp_path / "one", 400)
    assert len({taken(tmp_path / name) for name in ("one", "other", "none")} | {fingerprint_of(source_file)}) == 4


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
