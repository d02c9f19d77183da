import os
from pathlib import Path

import pytest

import sumpool.documents.read
from sumpool.documents.document import ReadOptions
from sumpool.documents.read import check_arguments
from sumpool.errors import DataError


def test_readable_arguments_pass(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "b.txt.gz").write_bytes(b"\x1f\x8bdamaged")
    (tmp_path / "c.pdf").write_bytes(b"%PDF-1.4")
    (tmp_path / "d.jsonl").write_text("{broken")
    os.mkfifo(tmp_path / "pipe")
    names = ["-", "https://example.com/a", str(tmp_path), *map(str, sorted(tmp_path.iterdir()))]
    check_arguments(names)


def test_problems_of_all_arguments_are_named(tmp_path: Path) -> None:
    image, archive = tmp_path / "a.png", tmp_path / "b.docx"
    image.write_bytes(b"\x89PNG")
    archive.write_bytes(b"PK\x03\x04 cut")
    with pytest.raises(DataError, match=r"missing must be a file .*a.png must be text .*b.docx must be a compl"):
        check_arguments([str(tmp_path / "missing"), str(image), str(archive)])
    with pytest.raises(DataError, match="embedded null byte; check the path"):
        check_arguments(["a\0b"])
    with pytest.raises(DataError, match=r"s3://bucket/a\.txt must come with --ray, which reads object stores"):
        check_arguments(["s3://bucket/a.txt"])
    with pytest.raises(DataError, match="stdin must be named once, got - several times"):
        check_arguments(["-", "-"])


def test_empty_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    with pytest.raises(DataError, match="must hold documents, got none; check the folder"):
        check_arguments([str(tmp_path)])
    with pytest.raises(DataError, match=r"must hold documents that match \*.md, got none"):
        check_arguments([str(tmp_path)], ReadOptions(glob="*.md"))


def test_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.4")
    monkeypatch.setattr(sumpool.documents.read, "LIBRARIES", {"pdf": ("nothing_like_it",)})
    with pytest.raises(DataError, match=r"a.pdf: pdf files need nothing_like_it, which is not installed: pip install"):
        check_arguments([str(path)])
