import os
from pathlib import Path

from sumpool.documents.document import DEFAULT_OPTIONS, ReadOptions
from sumpool.documents.read import files_of

NAMES = [
    ".hidden.txt",
    "a.txt",
    "b/README",
    "b/c.md",
    "b/d.csv",
    "e.png",
    "f.png",
    "g.jsonl",
    "man/ls.1",
    "v1.2",
    "z.py",
    "zz",
]


def fill(folder: Path) -> None:
    for name in NAMES:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\x89PNG" if path.suffix == ".png" or name == "zz" else b"Some text.")
    (folder / "man/ls.1").write_text(".TH LS 1\n")
    os.mkfifo(folder / "pipe.txt")
    (folder / "broken.txt").symlink_to(folder / "missing")


def listed(folder: Path, options: ReadOptions = DEFAULT_OPTIONS) -> tuple[list[str], list[str]]:
    notices: list[str] = []
    files = [str(path.relative_to(folder)) for path in files_of(folder, options, notices.append)]
    return files, notices


def test_documents_of_a_folder_are_read_and_others_counted(tmp_path: Path) -> None:
    fill(tmp_path)
    files, (notice,) = listed(tmp_path)
    assert files == ["a.txt", "b/README", "b/c.md", "g.jsonl", "man/ls.1"]
    assert notice == (
        f"{tmp_path}: 8 files passed over (2 that are no files, 2 .png, 1 .csv, 1 .2, 2 others); "
        "--glob names the files to read"
    )


def test_pattern_decides_alone(tmp_path: Path) -> None:
    fill(tmp_path)
    assert listed(tmp_path, ReadOptions(glob="*.p[yn]*")) == (["e.png", "f.png", "z.py"], [])
    assert listed(tmp_path, ReadOptions(glob="b/*.csv"))[0] == ["b/d.csv"]


def test_links_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    folder, other = tmp_path / "folder", tmp_path / "other"
    for path in (folder, other):
        path.mkdir()
        (path / "text.txt").write_text("Some text.")
    (folder / "inside.txt").symlink_to("text.txt")
    (folder / "outside.txt").symlink_to(other / "text.txt")
    (folder / "subfolder").symlink_to(other)
    notices: list[str] = []
    linked = tmp_path / "linked"
    linked.symlink_to(folder)
    for start, options in ((folder, DEFAULT_OPTIONS), (linked, ReadOptions(glob="*.txt"))):
        assert [path.name for path in files_of(start, options, notices.append)] == ["inside.txt", "text.txt"]
        assert "1 linked from elsewhere" in notices.pop()
