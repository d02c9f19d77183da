import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import sumpool
from sumpool.data.config import DataConfig
from sumpool.data.prepared_folder import (
    content_digest,
    fingerprint,
    origin,
    read_origin,
    write_manifest,
)
from sumpool.data.sources._base import Example, Reject, SourceConfig
from sumpool.errors import DataError


class FileConfig(SourceConfig):
    """A source that is a file."""

    kind: str = "file"
    path: Path
    field: str = "text"

    def rows(self) -> Iterator[Example | Reject]:
        yield from ()


def never() -> None:
    """Nobody asks to stop."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_text("content")
    return path


def fingerprint_of(path: Path, field: str = "text", vocabulary: int = 400, phrases: int = 0, workers: int = 2) -> str:
    source = FileConfig(path=path, field=field)
    return fingerprint(
        DataConfig.model_construct(source=source, vocabulary=vocabulary, phrases=phrases, workers=workers)
    )


def test_fingerprint_depends_on_settings_and_files(source: Path) -> None:
    before = fingerprint_of(source)
    assert fingerprint_of(source) == before
    assert fingerprint_of(source, workers=7) == before
    assert fingerprint_of(source, vocabulary=401) != before
    assert fingerprint_of(source, field="body") != before
    assert len({before, fingerprint_of(source, phrases=500), fingerprint_of(source, phrases=501)}) == 3
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
    monkeypatch.setattr("sumpool.data.sources.rfc.CLEANING_REVISION", 10**6)
    assert fingerprint(config) != before


def test_fingerprint_depends_on_the_tokenizer(source: Path, tmp_path: Path) -> None:
    def taken(folder: Path, vocabulary: int | None = None) -> str:
        source_config = FileConfig(path=source, field="text")
        return fingerprint(DataConfig.model_construct(source=source_config, tokenizer=folder, vocabulary=vocabulary))

    for name, content in (("one", "a"), ("copy", "a"), ("other", "b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tokenizer.json").write_text(content)
        (tmp_path / name / "vocabulary.json").write_text("{}")
    assert taken(tmp_path / "one") == taken(tmp_path / "copy") == taken(tmp_path / "one", 400)
    assert len({taken(tmp_path / name) for name in ("one", "other", "none")} | {fingerprint_of(source)}) == 4


def test_fingerprints_are_stable_across_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sumpool.__version__", "0.0.0")
    cases: list[tuple[dict[str, object], str]] = [
        ({}, "c55bb187b9e04a6a13bf2de791519bcb170fa426602c262060fabccd0976f7f9"),
        ({"phrases": 9000}, "6112494e72e95a6e8ad75ce8d7c339f0a0f21d1a2fddf6b0f67921abd49d8075"),
        ({"shuffled": {"words": 30}}, "866a38cd9590b75aebba4e951280828210a6f3db7bf11008a6fb3e0d16c23d19"),
        ({"gap_sentences": {"window": 300}}, "88c985949d337581fa0f02c1a53ba7370faa46bb73923c06235c8f79ee2cb10c"),
        ({"tokenizer": "nowhere"}, "cf40e2bc91103f1509c3686a8ff7973dff625ee58b2f3cc5c8f8c92515e663bd"),
    ]
    for settings, expected in cases:
        config = DataConfig.model_validate({"source": {"kind": "jsonl", "train": "nowhere/a.jsonl"}, **settings})
        assert fingerprint(config) == expected


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "file").write_text("content")
    (folder / "inner" / "file").write_bytes(bytes(3 << 20))
    write_manifest(folder, {"fingerprint": "made from this"}, never)
    return folder


def test_content_digest_depends_on_files_only(folder: Path, tmp_path: Path) -> None:
    before = content_digest(folder)
    moved = folder.rename(tmp_path / "moved")
    (moved / "manifest.json").unlink()
    write_manifest(moved, {"fingerprint": "made from that"}, never)
    assert content_digest(tmp_path / "moved") == before
    assert read_origin(tmp_path / "moved") == {"fingerprint": "made from that"}
    (tmp_path / "moved" / "manifest.json").unlink()
    assert read_origin(tmp_path / "moved") == {}
    with pytest.raises(DataError, match=r"manifest\.json must be readable"):
        content_digest(tmp_path / "moved")


def test_origin_tells_new_times_from_new_content(source: Path) -> None:
    data = DataConfig.model_construct(source=FileConfig(path=source), vocabulary=400, phrases=0)
    before = origin(data, never)
    os.utime(source, ns=(1, 1))
    touched = origin(data, never)
    assert [name for name in before if before[name] != touched[name]] == ["fingerprint"]
    source.write_text("CONTENT")
    os.utime(source, ns=(1, 1))
    changed = origin(data, never)
    assert [name for name in touched if touched[name] != changed[name]] == ["source"]
    source.unlink()
    assert origin(data, never)["source"] == ""


def test_an_unused_held_out_share_keeps_older_fingerprints(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"document": "a", "summary": "b"}\n')

    def data(**settings: object) -> DataConfig:
        return DataConfig.model_validate({"source": {"kind": "jsonl", "train": path, **settings}})

    about = {
        "schema": 1,
        "sumpool": sumpool.__version__,
        "source": data().require_source().model_dump(mode="json", exclude={"max_bytes", "max_ratio", "held_out"}),
        "vocabulary": 8000,
        "files": [[str(path), path.stat().st_size]],
    }
    before = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
    assert fingerprint(data(held_out=0), times=False) == before
    assert fingerprint(data(held_out=0.1), times=False) != before
