"""Rows of Arrow tables (Parquet files, Hugging Face datasets); requires pyarrow (extra `parquet`)."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sumpool.documents.files import check_ratio
from sumpool.documents.json_lines import Line, Reject
from sumpool.documents.rows import unpacked_bytes
from sumpool.errors import DataError, RecipeError, first_line
from sumpool.io.bounded import open_regular

_BATCH_ROWS = 64
_BUFFER_BYTES = 2**20
"""Read-ahead per column; without a buffer, pyarrow reads whole row groups."""


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


def open_parquet(path: Path) -> Any:  # noqa: ANN401 - pyarrow is untyped
    """Open a Parquet file.

    Raises:
        DataError: If the file is damaged or not Parquet.
        RecipeError: If pyarrow is not installed.
    """
    errors = require_pyarrow("parquet")
    from pyarrow import parquet

    try:
        with open_regular(path) as opened:
            size = os.fstat(opened.fileno()).st_size
        file = parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True)
        check_ratio(unpacked_bytes(file.metadata), size)
    except (OSError, errors) as error:
        raise DataError(f"{path} must be a Parquet file, got: {first_line(error)}; get the file again") from error
    except ValueError as error:
        raise DataError(f"{path} {error}") from error
    return file


def read_parquet(path: Path, names: Sequence[str]) -> Iterator[Line | Reject]:
    """Read the columns `names` of a Parquet file row by row.

    Raises:
        DataError: If the file is damaged.
        RecipeError: If pyarrow is not installed.
    """
    errors = require_pyarrow("parquet")
    file, number = open_parquet(path), 0
    try:
        batches = file.iter_batches(_BATCH_ROWS, columns=list(dict.fromkeys(names)), use_threads=False)
        for row in read_batches(batches, names, str(path)):
            number += 1
            yield row
    except (OSError, errors) as error:
        raise DataError(
            f"{path} must be complete, got: {first_line(error)} after row {number}; get the file again"
        ) from error
    finally:
        file.close()


def read_batches(batches: Iterable[Any], names: Sequence[str], where: str, start: int = 1) -> Iterator[Line | Reject]:
    """Read the columns `names` of record batches row by row; rows are numbered from `start`."""
    number = start
    for batch in batches:
        columns = [batch.column(name) for name in names]
        for row in range(batch.num_rows):
            yield _row(f"{where}:{number}", names, [column[row] for column in columns])
            number += 1


def _row(where: str, names: Sequence[str], values: Sequence[Any]) -> Line | Reject:
    """Convert the pyarrow values of a row."""
    try:
        return Line(where, {name: value.as_py() for name, value in zip(names, values, strict=True)})
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        return Reject(where, f"must be UTF-8, got byte 0x{byte:02x} at position {error.start}; convert it")
