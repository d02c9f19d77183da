from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sumpool.data.config import SPLITS, DataConfig, Example, Reject, SourceConfig, hash_split
from sumpool.data.prepared_folder import fingerprint
from sumpool.errors import DataError
from sumpool.settings import kinds
from sumpool.tasks.classification.labels import LabelledDataConfig
from tests.data.sources.conftest import write_lines
from tests.data.sources.test_datasets import save
from tests.data.sources.test_parquet import write_table

"""Contract of every source: rows in a fixed order, fingerprint of the files, errors that name the path, a page."""


ROWS = [{"id": f"d{number}", "document": f"Document {number}, as it is.", "summary": "Short."} for number in range(60)]
PACKAGE = "sumpool.data.sources"


def write_delimited(path: Path, separator: str) -> Path:
    quoted = ([f'"{cell}"' for cell in row] for row in [[*ROWS[0]], *([*row.values()] for row in ROWS)])
    path.write_text("".join(f"{separator.join(cells)}\n" for cells in quoted))
    return path


def write_folder(path: Path) -> Path:
    path.mkdir()
    for row in ROWS:
        (path / f"{row['id']}.txt").write_text(row["document"])
        (path / f"{row['id']}.summary.txt").write_text(row["summary"])
    return path


def write_cohan(path: Path) -> Path:
    path.mkdir()
    for number, name in enumerate(("train", "val", "test")):
        articles = (
            {"article_id": row["id"], "article_text": [row["document"]], "abstract_text": [row["summary"]]}
            for row in ROWS[number::3]
        )
        write_lines(path / f"{name}.txt", *articles)
    return path


def write_labelled(path: Path) -> Path:
    rows = ({"id": row["id"], "text": row["document"], "label": row["summary"]} for row in ROWS)
    return write_lines(path, *rows)


WRITERS: dict[str, Callable[[Path], Path]] = {
    "arxiv": write_cohan,
    "csv": lambda path: write_delimited(path, ","),
    "datasets": lambda path: save(path, ROWS[:40], ROWS[40:]),
    "folder": write_folder,
    "jsonl": lambda path: write_lines(path, *ROWS),
    "labelled": write_labelled,
    "parquet": lambda path: write_table(path, *ROWS),
    "pubmed": write_cohan,
}
BUNDLED = {"rfc", "wikihow"}
"""Sources that are tested with data of their own."""


OF_CLASSIFIERS = {"labelled"}
"""Sources of one task."""


def data_config(kind: str, path: Path) -> DataConfig:
    schema = LabelledDataConfig if kind in OF_CLASSIFIERS else DataConfig
    return schema.model_validate({"source": {"kind": kind, "path": str(path)}})


def config(kind: str, path: Path) -> SourceConfig:
    return data_config(kind, path).require_source()


def test_every_source_is_tested() -> None:
    assert set(kinds(PACKAGE)) == {*WRITERS, *BUNDLED} - OF_CLASSIFIERS


@pytest.mark.parametrize("kind", WRITERS)
def test_rows_are_read_twice_alike_and_none_is_lost(kind: str, tmp_path: Path) -> None:
    source = config(kind, WRITERS[kind](tmp_path / f"data.{kind}"))
    rows = list(source.rows())
    assert rows == list(source.rows())
    assert all(isinstance(row, Example) and row.split in SPLITS for row in rows)
    texts = {(row.id, row.document, row.summary) for row in rows if isinstance(row, Example)}
    assert texts == {(row["id"], row["document"], row["summary"]) for row in ROWS}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_changed_file_changes_the_fingerprint(kind: str, tmp_path: Path) -> None:
    path = WRITERS[kind](tmp_path / "data")
    data = data_config(kind, path)
    before = fingerprint(data)
    assert all(file.is_file() for file in config(kind, path).files())
    largest = max(config(kind, path).files(), key=lambda file: file.stat().st_size)
    largest.write_bytes(largest.read_bytes() + b" ")
    assert fingerprint(data) != before


@pytest.mark.parametrize("kind", WRITERS)
def test_a_missing_path_is_named(kind: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere"):
        list(config(kind, tmp_path / "nowhere").rows())


def test_documentation_has_a_row_for_every_source() -> None:
    page = (Path(__file__).parents[3] / "docs" / "data.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert {kind for kind in kinds(PACKAGE) if not any(f"`{kind}`" in row for row in rows)} == set()


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
    assert [hash_split(name, 0.3, 0.3) for name in "abcdef"] == ["test", "validation", "test", "train", "test", "test"]
    counts = Counter(hash_split(f"document {number}", 0.1, 0.2) for number in range(10_000))
    assert abs(counts["validation"] - 1000) < 100
    assert abs(counts["test"] - 2000) < 150
