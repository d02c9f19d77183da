from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sumpool.data.config import Example, Reject, SourceConfig, hash_split


class ScatteredConfig(SourceConfig):
    """A source with every kind of path among its settings."""

    kind: str = "scattered"
    file: Path
    folder: Path
    several: tuple[Path, ...]
    none: Path | None = None

    def rows(self) -> Iterator[Example | Reject]:
        yield from ()


def test_files_lists_all_paths_among_the_settings(tmp_path: Path) -> None:
    for name in ("folder/b.txt", "folder/deep/a.txt", "one", "two", "file"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("")
    source = ScatteredConfig(
        file=tmp_path / "file", folder=tmp_path / "folder", several=(tmp_path / "one", tmp_path / "two")
    )
    files = [str(path.relative_to(tmp_path)) for path in source.files()]
    assert files == ["file", "folder/b.txt", "folder/deep/a.txt", "one", "two"]


def test_hash_split_matches_the_fractions() -> None:
    counts = Counter(hash_split(f"document {number}", 0.1, 0.2) for number in range(10_000))
    assert abs(counts["validation"] - 1000) < 100
    assert abs(counts["test"] - 2000) < 150


def test_hash_split_is_deterministic() -> None:
    splits = [hash_split(name, 0.3, 0.3) for name in "abcdef"]
    assert splits == ["test", "validation", "test", "train", "test", "test"]
