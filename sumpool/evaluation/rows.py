"""Rows of JSON lines with their byte offsets; error messages name file and line."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from sumpool.documents.files import READ_ERRORS, open_bytes
from sumpool.documents.json_lines import Reject, read_line
from sumpool.errors import DataError


class InputRow(NamedTuple):
    """Row of a JSON lines file, with its line number from 1 and its byte offset in the decompressed file."""

    where: str
    number: int
    offset: int
    fields: dict[str, object]

    def text(self, field: str) -> str:
        """Return a text field, which may be empty.

        Raises:
            DataError: If the field is missing, not text, or not Unicode.
        """
        value = self.fields.get(field)
        if not isinstance(value, str):
            got = f"the fields {_listed(list(self.fields))}" if value is None else type(value).__name__
            raise DataError(f"{self.where} must have a text in {field!r}, got {got}")
        return self._unicode(field, value)

    def name(self, field: str) -> str:
        """Return an ID field, which may be a whole number.

        Raises:
            DataError: If the field is neither text nor a whole number.
        """
        value = self.fields.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value:
            raise DataError(f"{self.where} must have a name in {field!r}, got {json.dumps(value)[:60]}")
        return self._unicode(field, value)

    def guess(self, names: Sequence[str]) -> str:
        """Return the first of some common field names that the row has.

        Raises:
            DataError: If the row has none of them.
        """
        for name in names:
            if name in self.fields:
                return name
        raise DataError(f"{self.where} must have one of the fields {_listed(names)}, got {_listed(list(self.fields))}")

    def _unicode(self, field: str, value: str) -> str:
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"{self.where} must have Unicode text in {field!r}, got {value[error.start]!a} at {error.start}"
            ) from error
        return value


@contextmanager
def open_rows(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, decompressed if necessary.

    Raises:
        DataError: If the file cannot be read, or its compressed content is damaged.
    """
    with open_bytes(path) as file:
        try:
            yield file
        except READ_ERRORS as error:
            raise DataError(f"{path} must be a file that can be read, got: {error}; get it again") from error


def read_rows(file: IO[bytes], path: Path) -> Iterator[InputRow]:
    """Read the rows of an open file, without empty lines.

    Raises:
        DataError: If a line is not a JSON object.
    """
    offset = 0
    for number, content in enumerate(file, 1):
        if content.strip():
            yield read_row(content, path, number, offset)
        offset += len(content)


def read_row(content: bytes, path: Path, number: int, offset: int) -> InputRow:
    """Parse one line.

    Raises:
        DataError: If the line is not a JSON object.
    """
    line = read_line(f"{path}:{number}", content)
    if isinstance(line, Reject):
        raise DataError(f"{line.where} {line.reason}")
    return InputRow(line.where, number, offset, line.fields)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(name[:30] for name in names[:8])
    return shown + (", ..." if len(names) > 8 else "") if names else "none"
