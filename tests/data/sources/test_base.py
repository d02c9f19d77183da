from collections.abc import Iterator
from pathlib import Path

from sumpool.data.sources._base import Example, Reject, SourceConfig


class ScatteredConfig(SourceConfig):
    """A source with every kind of path among its settings."""

    kind: str = "scattered"
    file: Path
    folder: Path
    several: tuple[Path, ...]
    none: Path | None = None

    def rows(self) -> Iterator[Example | Reject]:
        yield from ()


def test_files_are_the_paths_of_the_settings_and_what_is_in_them(tmp_path: Path) -> None:
    for name in ("folder/b.txt", "folder/deep/a.txt", "one", "two", "file"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("")
    source = ScatteredConfig(
        file=tmp_path / "file", folder=tmp_path / "folder", several=(tmp_path / "one", tmp_path / "two")
    )
    found = [str(path.relative_to(tmp_path)) for path in source.files()]
    assert found == ["file", "folder/b.txt", "folder/deep/a.txt", "one", "two"]


def test_a_source_has_no_notes_by_default(tmp_path: Path) -> None:
    assert not list(ScatteredConfig(file=tmp_path, folder=tmp_path, several=()).notes())
