"""JSON lines from anywhere, read one row at a time; a row that cannot be used is named by file and line.

Rows are split at line feeds only, as JSON allows every other line break inside a text.
"""

import gzip
import json
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from sumpool.errors import DataError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


class Row(NamedTuple):
    """A row of a file.

    Attributes:
        where: `file:line`, for messages.
        number: Its line, from 1.
        offset: Byte of the (uncompressed) file that it begins at.
        values: The object.
    """

    where: str
    number: int
    offset: int
    values: dict[str, object]

    def text(self, field: str) -> str:
        """Take a text out of the row.

        Raises:
            DataError: If the field is missing, no text, or not Unicode.
        """
        value = self.values.get(field)
        if not isinstance(value, str):
            got = f"the fields {_listed(list(self.values))}" if value is None else type(value).__name__
            raise DataError(f"{self.where} must have a text in {field!r}, got {got}")
        return self._unicode(field, value)

    def name(self, field: str) -> str:
        """Take an id out of the row; whole numbers are ids too.

        Raises:
            DataError: If the field holds neither a text nor a whole number.
        """
        value = self.values.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value:
            raise DataError(f"{self.where} must have a name in {field!r}, got {json.dumps(value)[:60]}")
        return self._unicode(field, value)

    def _unicode(self, field: str, value: str) -> str:
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise DataError(
                    f"{self.where} must have Unicode text in {field!r}, got {value[error.start]!a} at {error.start}"
                ) from error
        return value


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file, which may be compressed (.gz, .zst).

    Raises:
        DataError: If it cannot be read, or its compressed content is damaged.
    """
    kinds: dict[str, Callable[..., object]] = {".gz": gzip.open, ".zst": zstd.open}
    try:
        with cast("BinaryIO", kinds.get(path.suffix, open)(path, "rb")) as file:
            yield file
    except (OSError, EOFError, zlib.error, zstd.ZstdError) as error:
        raise DataError(f"{path} must be a file that can be read, got: {error}") from error


def read_rows(file: BinaryIO, path: Path) -> Iterator[Row]:
    """Read the rows of an open file; empty lines are passed over.

    Raises:
        DataError: If a line is no JSON object.
    """
    offset = 0
    for number, line in enumerate(file, 1):
        if line.strip():
            yield parse_row(line, path, number, offset)
        offset += len(line)


def parse_row(line: bytes, path: Path, number: int, offset: int) -> Row:
    """Read one line.

    Raises:
        DataError: If it is no JSON object.
    """
    where = f"{path}:{number}"
    try:
        values = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} must be a JSON object in UTF-8, got: {error}") from error
    if not isinstance(values, dict):
        raise DataError(f"{where} must be a JSON object, got {type(values).__name__}")
    return Row(where, number, offset, values)


def guess(row: Row, names: Sequence[str]) -> str | None:
    """Find the first of some usual field names in a row."""
    return next((name for name in names if name in row.values), None)


def require(row: Row, names: Sequence[str]) -> str:
    """Find the first of some usual field names in a row.

    Raises:
        DataError: If the row has none.
    """
    found = guess(row, names)
    if found is None:
        raise DataError(f"{row.where} must have one of the fields {_listed(names)}, got {_listed(list(row.values))}")
    return found


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(name[:30] for name in names[:8])
    return shown + (", ..." if len(names) > 8 else "") if names else "none"
