import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sumpool.errors import Interrupted, RecipeError
from sumpool.io.atomic import temporary_path
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.io.replaceable import is_free, other_content, replace_listed_file, require_replaceable, require_unlisted

ADVICE = "name another"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    (folder / "inner" / "deep").mkdir(parents=True)
    (folder / "file").write_text("content")
    (folder / "inner" / "file").write_text("more")
    (folder / "inner" / "deep" / "file").write_text("most")
    files = {name: FileDigest.of(folder / name) for name in ("file", "inner/file", "inner/deep/file")}
    Manifest(files, kind="evaluation").write(folder)
    return folder


def test_new_empty_and_listed_folders_are_replaceable(folder: Path, tmp_path: Path) -> None:
    require_replaceable(tmp_path / "new", "evaluation", ADVICE)
    (tmp_path / "empty").mkdir()
    require_replaceable(tmp_path / "empty", "evaluation", ADVICE)
    (folder / ".tmp-manifest.json").touch()  # left by a process that was killed
    require_replaceable(folder, "evaluation", ADVICE)
    assert other_content(folder, "evaluation") == ""
    assert "must be a manifest of the kind 'run', got 'evaluation'" in other_content(folder, "run")


def replace_text(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def become_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("content")


def become_link(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(folder.parent / "nowhere")


CHANGES: dict[str, Callable[[Path], object]] = {
    r"\(file, no manifest\.json\); name another": lambda folder: (folder / "manifest.json").unlink(),
    r"of the kind 'evaluation', got 'prepared data'": lambda folder: Manifest({}, kind="prepared data").write(folder),
    "must have schema 2, got 1": lambda folder: replace_text(folder / "manifest.json", '"schema": 2', '"schema": 1'),
    r"must be a manifest, got": lambda folder: (folder / "manifest.json").write_text('{"name": "an app", "icons": []}'),
    "its own SHA-256 does not match": lambda folder: replace_text(folder / "manifest.json", '"size": 4', '"size": 5'),
    "inner/file must hold 4 bytes": lambda folder: (folder / "inner" / "file").write_text("mine"),
    "inner/file must be readable": lambda folder: (folder / "inner" / "file").unlink(),
    r"nothing but .*, got inner/notes\.txt; name": lambda folder: (folder / "inner" / "notes.txt").write_text("mine"),
    "nothing but .*, got inner/elsewhere": lambda folder: (folder / "inner" / "elsewhere").symlink_to(folder.parent),
    "nothing but the results of an evaluation to be replaced, got empty": lambda folder: (folder / "empty").mkdir(),
    "must be new or an empty folder, got a file; name another": become_file,
    "must be new or an empty folder, got a link to nothing; name another": become_link,
}
"""Changes of a folder by what is said about them."""


@pytest.mark.parametrize("reason", CHANGES)
def test_other_content_is_refused_untouched(folder: Path, tmp_path: Path, reason: str) -> None:
    CHANGES[reason](folder)
    before = content(tmp_path)
    with pytest.raises(RecipeError, match=reason):
        require_replaceable(folder, "evaluation", ADVICE)
    assert content(tmp_path) == before


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def test_the_working_directory_those_around_it_and_mount_points_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ["folder", "folder/inner"]:
        monkeypatch.chdir(folder.parent / name)
        with pytest.raises(RecipeError, match="folder must not be the working directory or around it"):
            is_free(folder, ADVICE)
    monkeypatch.chdir(folder.parent)
    monkeypatch.setattr(Path, "is_mount", lambda _: True)
    with pytest.raises(RecipeError, match="folder must be a folder that can be replaced, got a mount point"):
        is_free(folder, ADVICE)


def test_hashing_can_be_stopped(folder: Path) -> None:
    def stop() -> None:
        raise Interrupted(2)

    with pytest.raises(Interrupted):
        require_replaceable(folder, "evaluation", ADVICE, stop)


@pytest.mark.parametrize("name", ["file", "inner/deep/file", "manifest.json"])
def test_files_that_a_manifest_lists_are_no_place_for_others(folder: Path, name: str) -> None:
    with pytest.raises(
        RecipeError, match=rf"{name} must not be a file that .*folder/manifest\.json lists; name another"
    ):
        require_unlisted(folder / name)
    for path in (folder / "page.html", folder.parent / "page.html", folder.parent):
        require_unlisted(path)
    (folder / "page.html").touch()
    require_unlisted(folder / "page.html")
    (folder / "manifest.json").write_text('{"name": "an app"}')
    require_unlisted(folder / name)


def test_a_file_and_its_entry_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("other")
    other = FileDigest.of(tmp_path / "other")
    Manifest({"other": other}, {"a": 1}, kind="sweep").write(tmp_path)
    for text in ("one", "two"):
        temporary_path(tmp_path / "file").write_text(text)
        replace_listed_file(tmp_path / "file", {"b": text}, "sweep")
        manifest = Manifest.read(tmp_path, "sweep")
        assert (tmp_path / "file").read_text() == text
        assert manifest.files == {"other": other, "file": FileDigest.of_bytes(text.encode())}
        assert (manifest.facts, manifest.incoming) == ({"a": 1, "b": text}, {})


@pytest.mark.parametrize("content", ["old", "new"])
def test_an_interrupted_replacement_of_another_file_stays_valid(tmp_path: Path, content: str) -> None:
    """Of a process that was killed before or after it renamed the other file."""
    (tmp_path / "other").write_text(content)
    old, new = (FileDigest.of_bytes(text.encode()) for text in ("old", "new"))
    Manifest({"other": old}, {}, {"other": new, "missing": new}, "sweep").write(tmp_path)
    temporary_path(tmp_path / "file").write_text("one")
    replace_listed_file(tmp_path / "file", {}, "sweep")
    manifest = Manifest.read(tmp_path, "sweep")
    manifest.verify(tmp_path, ["other", "file"])
    assert set(manifest.files) == {"other", "file"}
