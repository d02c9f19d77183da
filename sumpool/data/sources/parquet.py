"""Parquet: one document with its summary per row; requires pyarrow (extra `parquet`).

All documents are in the files of `path`, or each split has its files. File names may contain the wildcards * and ?, and
a field is a column.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, final

from sumpool.data.sources._base import Split
from sumpool.data.sources._fields import Fields, FieldsSourceConfig, quote_names
from sumpool.documents.json_lines import Line, Reject
from sumpool.errors import DataError, RecipeError

_BATCH_ROWS = 64
_BUFFER_BYTES = 2**20
"""Read-ahead per column; without a buffer, pyarrow reads whole row groups."""


@final
class ParquetSourceConfig(FieldsSourceConfig):
    """Parquet files, for all splits or per split."""

    kind: Literal["parquet"] = "parquet"

    def paths(self) -> Iterator[tuple[Path, Split | None]]:
        """List the files that match each pattern in alphabetical order, with their splits.

        Raises:
            DataError: If a pattern matches no file.
        """
        for pattern, split in super().paths():
            root = Path(pattern.anchor)
            paths = [pattern] if pattern.exists() else sorted(root.glob(str(pattern.relative_to(root))))
            if not paths:
                raise DataError(f"{pattern} must name a file, got none; check data.source.{split or 'path'}")
            yield from ((path, split) for path in paths)

    def files(self) -> Iterator[Path]:
        """List all files.

        Raises:
            DataError: If a pattern matches no file.
        """
        yield from (path for path, _ in self.paths())

    def fields_of(self, path: Path) -> Fields:
        """Return the column names of a file, guessing those that are not set.

        Raises:
            DataError: If the file is damaged or not Parquet, or lacks a column.
            RecipeError: If pyarrow is not installed.
        """
        columns = _open(path).schema_arrow.names
        fields = self.guess(columns, path)
        for setting, name in vars(fields).items():
            if name not in {*columns, None}:
                raise DataError(
                    f"{path} must have a column {name!r}, got {quote_names(columns) or 'none'}; "
                    f"set data.source.{setting} to its name"
                )
        return fields

    def lines(self, path: Path, fields: Fields) -> Iterator[Line | Reject]:
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
                f"{path} must be complete, got: {_first_line(error)} after row {number}; get the file again"
            ) from error
        finally:
            file.close()


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


def _row(where: str, names: Sequence[str], values: Sequence[Any]) -> Line | Reject:
    """Convert the pyarrow values of a row."""
    try:
        return Line(where, {name: value.as_py() for name, value in zip(names, values, strict=True)})
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        return Reject(where, f"must be UTF-8, got byte 0x{byte:02x} at position {error.start}; convert it")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
