"""Parquet: one document with its summary a row; needs the extra `parquet` (pyarrow)."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, final

from pydantic import Field, model_validator

from sumpool.data.sources._base import Example, Reject, SourceConfig, Split
from sumpool.data.sources._fields import Fields, examples, files_of_splits, listed
from sumpool.documents.json_lines import BadLine, Line
from sumpool.errors import DataError, RecipeError

_ROWS_AT_ONCE = 64
_BUFFER = 2**20
"""Bytes of a column that are read ahead; without it a whole row group is."""


@final
class ParquetSourceConfig(SourceConfig):
    """Parquet files: the same for all splits, or others for each; in their names, * and ? stand for anything."""

    kind: Literal["parquet"] = "parquet"
    path: Path | None = None
    """Files that are split by a hash of the id."""
    train: Path | None = None
    """The training documents."""
    validation: Path | None = None
    """The validation documents."""
    test: Path | None = None
    """The test documents."""
    validation_share: float = Field(0.05, ge=0, le=0.5)
    """Share of `path` for validation."""
    test_share: float = Field(0.05, ge=0, le=0.5)
    """Share of `path` for testing."""
    document: str | None = None
    """Column of the document; by default the first of the usual names."""
    summary: str | None = None
    """Column of the summary; by default the first of the usual names."""
    id: str | None = None
    """Column of the id; by default the first of the usual names, and `file:row` without one."""

    @model_validator(mode="after")
    def _one_way_to_split(self) -> "ParquetSourceConfig":
        files_of_splits(self.path, self.train, self.validation, self.test)
        return self

    def rows(self) -> Iterator[Example | Reject]:
        """Read every row of every file, a few at a time.

        Raises:
            DataError: If a file is missing, damaged or no Parquet, or has no column for a document or a summary.
            RecipeError: If pyarrow is not installed.
        """
        yield from examples(self._tables(), self.validation_share, self.test_share)

    def notes(self) -> Iterable[str]:
        """Say which columns were guessed.

        Raises:
            DataError: As `rows`.
            RecipeError: As `rows`.
        """
        for path, _ in self._paths():
            yield from self._chosen.note(self._fields(path), path)

    def files(self) -> Iterator[Path]:
        """Name all files.

        Raises:
            DataError: If a pattern names none.
        """
        for path, _ in self._paths():
            yield path

    @property
    def _chosen(self) -> Fields:
        return Fields(self.document, self.summary, self.id)

    def _tables(self) -> Iterator[tuple[Fields, Split | None, Iterator[Line | BadLine]]]:
        for path, split in self._paths():
            fields = self._fields(path)
            yield fields, split, _read(path, fields)

    def _paths(self) -> Iterator[tuple[Path, Split | None]]:
        """Find the files of every pattern, in alphabetical order."""
        for pattern, split in files_of_splits(self.path, self.train, self.validation, self.test):
            root = Path(pattern.anchor)
            found = [pattern] if pattern.exists() else sorted(root.glob(str(pattern.relative_to(root))))
            if not found:
                raise DataError(f"{pattern} must name a file, got none; check data.source.{split or 'path'}")
            for path in found:
                yield path, split

    def _fields(self, path: Path) -> Fields:
        """Guess the columns that are not set."""
        columns = _open(path).schema_arrow.names
        found = self._chosen.guess(columns, path)
        for setting in ("document", "summary", "id"):
            name = getattr(found, setting)
            if name not in {*columns, None}:
                raise DataError(
                    f"{path} must have a column {name!r}, got {listed(columns) or 'none'}; "
                    f"set data.source.{setting} to its name"
                )
        return found


def _open(path: Path) -> Any:  # noqa: ANN401 - a file of pyarrow, which has no types
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise RecipeError(
            "data.source of kind parquet must have pyarrow, which is not installed: pip install 'sumpool[parquet]'"
        ) from error
    try:
        return parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True)
    except (OSError, ArrowException) as error:
        raise DataError(f"{path} must be a Parquet file, got: {_first_line(error)}; get the file again") from error


def _read(path: Path, fields: Fields) -> Iterator[Line | BadLine]:
    """Read the columns of these fields row by row.

    Raises:
        DataError: If the file is damaged.
    """
    from pyarrow import ArrowException

    names = [name for name in (fields.document, fields.summary, fields.id) if name]
    file, number = _open(path), 0
    try:
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=list(dict.fromkeys(names)), use_threads=False):
            columns = [batch.column(name) for name in names]
            for place in range(batch.num_rows):
                number += 1
                yield _row(f"{path}:{number}", names, [column[place] for column in columns])
    except (OSError, ArrowException) as error:
        raise DataError(
            f"{path} must be whole, got: {_first_line(error)} after row {number}; get the file again"
        ) from error
    finally:
        file.close()


def _row(where: str, names: Sequence[str], values: Sequence[Any]) -> Line | BadLine:
    """Read the values of one row out of pyarrow's."""
    try:
        return Line(where, {name: value.as_py() for name, value in zip(names, values, strict=True)})
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        return BadLine(where, f"must be UTF-8, got byte 0x{byte:02x} at position {error.start}; convert it")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
