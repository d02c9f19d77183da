"""Parquet: one document with its summary per row. Requires pyarrow (extra `parquet`)."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, final

from pydantic import Field, model_validator

from sumpool.data.sources._base import Example, Reject, SourceConfig, Split
from sumpool.data.sources._fields import Fields, examples, quote_names, split_files
from sumpool.documents.json_lines import BadLine, Line
from sumpool.errors import DataError, RecipeError

_BATCH_ROWS = 64
_BUFFER_BYTES = 2**20
"""Read-ahead per column; without a buffer, pyarrow reads whole row groups."""


@final
class ParquetSourceConfig(SourceConfig):
    """Parquet files, for all splits or per split. File names may contain the wildcards * and ?."""

    kind: Literal["parquet"] = "parquet"
    path: Path | None = None
    """Files with all documents, split by a hash of their id. Either `path` or `train` must be set."""
    train: Path | None = None
    """Files with the training documents."""
    validation: Path | None = None
    """Files with the validation documents."""
    test: Path | None = None
    """Files with the test documents."""
    validation_share: float = Field(0.05, ge=0, le=0.5)
    """Fraction of the documents of `path` used for validation."""
    test_share: float = Field(0.05, ge=0, le=0.5)
    """Fraction of the documents of `path` used for testing."""
    document: str | None = None
    """Column of the document; by default the first usual name (document, article, text, ...)."""
    summary: str | None = None
    """Column of the summary; by default the first usual name (summary, abstract, highlights, ...)."""
    id: str | None = None
    """Column of the id; by default the first usual name (id, article_id, ...), else `file:row`."""

    @model_validator(mode="after")
    def _one_way_to_split(self) -> "ParquetSourceConfig":
        split_files(self.path, self.train, self.validation, self.test)
        return self

    def rows(self) -> Iterator[Example | Reject]:
        """Read all rows of all files in small batches.

        Raises:
            DataError: If a file is missing, damaged or not Parquet, or has no column for document or summary.
            RecipeError: If pyarrow is not installed.
        """
        yield from examples(self._tables(), self.validation_share, self.test_share)

    def notes(self) -> Iterable[str]:
        """Return a message per file with guessed column names.

        Raises:
            DataError: As `rows`.
            RecipeError: As `rows`.
        """
        for path, _ in self._paths():
            yield from self._names.note(self._fields(path), path)

    def files(self) -> Iterator[Path]:
        """List all files.

        Raises:
            DataError: If a pattern matches no file.
        """
        for path, _ in self._paths():
            yield path

    @property
    def _names(self) -> Fields:
        return Fields(self.document, self.summary, self.id)

    def _tables(self) -> Iterator[tuple[Fields, Split | None, Iterator[Line | BadLine]]]:
        for path, split in self._paths():
            fields = self._fields(path)
            yield fields, split, _read(path, fields)

    def _paths(self) -> Iterator[tuple[Path, Split | None]]:
        """Return the files that match each pattern, in alphabetical order."""
        for pattern, split in split_files(self.path, self.train, self.validation, self.test):
            root = Path(pattern.anchor)
            paths = [pattern] if pattern.exists() else sorted(root.glob(str(pattern.relative_to(root))))
            if not paths:
                raise DataError(f"{pattern} must name a file, got none; check data.source.{split or 'path'}")
            for path in paths:
                yield path, split

    def _fields(self, path: Path) -> Fields:
        """Complete the column names from the schema."""
        columns = _open(path).schema_arrow.names
        fields = self._names.guess(columns, path)
        for setting in ("document", "summary", "id"):
            name = getattr(fields, setting)
            if name not in {*columns, None}:
                raise DataError(
                    f"{path} must have a column {name!r}, got {quote_names(columns) or 'none'}; "
                    f"set data.source.{setting} to its name"
                )
        return fields


def _open(path: Path) -> Any:  # noqa: ANN401 - pyarrow is untyped
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise RecipeError(
            "data.source of kind parquet must have pyarrow, which is not installed: pip install 'sumpool[parquet]'"
        ) from error
    try:
        return parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True)
    except (OSError, ArrowException) as error:
        raise DataError(f"{path} must be a Parquet file, got: {_first_line(error)}; get the file again") from error


def _read(path: Path, fields: Fields) -> Iterator[Line | BadLine]:
    """Read the columns of the given fields row by row.

    Raises:
        DataError: If the file is damaged.
    """
    from pyarrow import ArrowException

    names = [name for name in (fields.document, fields.summary, fields.id) if name]
    file, number = _open(path), 0
    try:
        for batch in file.iter_batches(_BATCH_ROWS, columns=list(dict.fromkeys(names)), use_threads=False):
            columns = [batch.column(name) for name in names]
            for row in range(batch.num_rows):
                number += 1
                yield _row(f"{path}:{number}", names, [column[row] for column in columns])
    except (OSError, ArrowException) as error:
        raise DataError(
            f"{path} must be whole, got: {_first_line(error)} after row {number}; get the file again"
        ) from error
    finally:
        file.close()


def _row(where: str, names: Sequence[str], values: Sequence[Any]) -> Line | BadLine:
    """Convert the pyarrow values of a row."""
    try:
        return Line(where, {name: value.as_py() for name, value in zip(names, values, strict=True)})
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        return BadLine(where, f"must be UTF-8, got byte 0x{byte:02x} at position {error.start}; convert it")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
