"""Rows of Arrow tables (Parquet files, Hugging Face datasets); requires pyarrow (extra `parquet`)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sumpool.documents.json_lines import Line, Reject
from sumpool.errors import RecipeError


def require_pyarrow(kind: str) -> type[Exception]:
    """Check that pyarrow is installed, and return the class of its errors.

    Raises:
        RecipeError: If pyarrow is not installed.
    """
    try:
        from pyarrow import ArrowException
    except ImportError as error:
        raise RecipeError(
            f"data.source of kind {kind} must have pyarrow, which is not installed: pip install 'sumpool[parquet]'"
        ) from error
    exception: type[Exception] = ArrowException
    return exception


def read_batches(batches: Iterable[Any], names: Sequence[str], where: str, start: int = 1) -> Iterator[Line | Reject]:
    """Read the columns `names` of record batches row by row; rows are numbered from `start`."""
    number = start
    for batch in batches:
        columns = [batch.column(name) for name in names]
        for row in range(batch.num_rows):
            yield _row(f"{where}:{number}", names, [column[row] for column in columns])
            number += 1


def unpacked_bytes(metadata: Any) -> int:  # noqa: ANN401 - pyarrow is untyped
    """Return the uncompressed size of the columns of a Parquet file, by its metadata."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    return sum(max(0, group.total_byte_size) for group in groups)


def first_line(error: Exception) -> str:
    """Return the first line of an error of pyarrow, whose further lines are advice to programmers."""
    return str(error).partition("\n")[0]


def _row(where: str, names: Sequence[str], values: Sequence[Any]) -> Line | Reject:
    """Convert the pyarrow values of a row."""
    try:
        return Line(where, {name: value.as_py() for name, value in zip(names, values, strict=True)})
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        return Reject(where, f"must be UTF-8, got byte 0x{byte:02x} at position {error.start}; convert it")
