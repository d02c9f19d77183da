"""Rows of JSON lines that can be found again; one that cannot be used is named by file and line."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from sumpool.documents.files import READ_ERRORS, open_bytes
from sumpool.documents.json_lines import BadLine, read_line
from sumpool.errors import DataError


class InputRow(NamedTuple):
    """A row of a file.

    Attributes:
        where: `file:line`, for messages.
        number: Its line, from 1.
        offset: Byte of the unpacked file that it begins at.
        fields: The object.
    """

    where: str
    number: int
    offset: int
    fields: dict[str, object]

    def text(self, field: str) -> str:
        """Take a text, which may be empty, out of the row.

        Raises:
            DataError: If the field is missing, no text, or not Unicode.
        """
        value = self.fields.get(field)
        if not isinstance(value, str):
            got = f"the fields {_listed(list(self.fields))}" if value is None else type(value).__name__
            raise DataError(f"{self.where} must have a text in {field!r}, got {got}")
        return self._unicode(field, value)

    def name(self, field: str) -> str:
        """Take an id out of the row; whole numbers are ids too.

        Raises:
            DataError: If the field holds neither a text nor a whole number.
        """
        value = self.fields.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value:
            raise DataError(f"{self.where} must have a name in {field!r}, got {json.dumps(value)[:60]}")
        return self._unicode(field, value)

    def guess(self, names: Sequence[str]) -> str:
        """Find the first of some usual field names.

        Raises:
            DataError: If the row has none.
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
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, which may be compressed.

    Raises:
        DataError: If it cannot be read, or its compressed content is damaged.
    """
    with open_bytes(path) as file:
        try:
            yield file
        except READ_ERRORS as error:
            raise DataError(f"{path} must be a file that can be read, got: {error}; get it again") from error


def read_rows(file: IO[bytes], path: Path) -> Iterator[InputRow]:
    """Read the rows of an open file; empty lines are passed over.

    Raises:
        DataError: If a line is no JSON object.
    """
    offset = 0
    for number, content in enumerate(file, 1):
        if content.strip():
            yield read_row(content, path, number, offset)
        offset += len(content)


def read_row(content: bytes, path: Path, number: int, offset: int) -> InputRow:
    """Read one line.

    Raises:
        DataError: If it is no JSON object.
    """
    line = read_line(f"{path}:{number}", content)
    if isinstance(line, BadLine):
        raise DataError(f"{line.where} {line.reason}")
    return InputRow(line.where, number, offset, line.fields)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(name[:30] for name in names[:8])
    return shown + (", ..." if len(names) > 8 else "") if names else "none"
