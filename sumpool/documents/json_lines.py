"""JSON lines: one object per line, in strict UTF-8, separated by line feeds only."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sumpool.documents.decoding import MIN_PER_NULL
from sumpool.documents.document import DEFAULT_LIMITS, Limits
from sumpool.documents.document import Reject as Reject
from sumpool.documents.files import READ_ERRORS, decode, open_bytes, read_lines_limited
from sumpool.errors import DataError
from sumpool.io.bounded import parse_json

DOCUMENT_FIELDS: Final = ("document", "article", "text", "body", "source", "content", "report", "full_text", "input")
SUMMARY_FIELDS: Final = ("summary", "abstract", "highlights", "target", "tldr", "headline", "output")
ID_FIELDS: Final = ("id", "article_id", "document_id", "doc_id", "uid", "guid", "name", "url")


@dataclass(frozen=True)
class Line:
    """A valid line: its location, as `file:line`, and the fields of its object."""

    where: str
    fields: dict[str, object]


def read_lines(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Line | Reject]:
    """Read a file line by line, ignoring blank lines.

    Raises:
        DataError: If the file is missing or truncated, or exceeds a limit.
    """
    with open_bytes(path) as file:
        yield from parse_lines(str(path), read_lines_limited(file, limits, str(path)))


def parse_lines(where: str, lines: Iterable[bytes], first: int = 1) -> Iterator[Line | Reject]:
    """Parse lines as they are read, ignoring blank ones.

    Args:
        where: Name of the file, for locations and messages.
        lines: The lines.
        first: Number of the first of them.

    Raises:
        DataError: If reading fails.
    """
    number = first - 1
    try:
        for number, content in enumerate(lines, first):
            if content.strip():
                yield read_line(f"{where}:{number}", content)
    except READ_ERRORS as error:
        raise DataError(f"{where} must be complete, got: {error} after line {number}; get the file again") from error


def guess_field(fields: Mapping[str, object], candidates: tuple[str, ...]) -> str | None:
    """Return the field whose name is the first candidate, `Full Text` for `full_text` too; None if there is none."""
    named = {re.sub(r"\W+", "_", name.strip()).casefold(): name for name in fields} | {name: name for name in fields}
    return next((named[name] for name in candidates if name in named), None)


def text_of(fields: Mapping[str, object], name: str) -> str:
    """Return the text in a field, without the few null characters that early RFCs have.

    Raises:
        ValueError: If the field is missing, not a text, empty or not valid Unicode; the message lacks the location.
    """
    if name not in fields:
        raise ValueError(f"must have a field {name!r}, got {', '.join(map(repr, list(fields)[:12])) or 'none'}")
    text = fields[name]
    if not isinstance(text, str):
        raise ValueError(f"{name!r} must be text, got {type(text).__name__}")
    if not text.strip():
        raise ValueError(f"{name!r} must contain text, got an empty one")
    if text.count("\0") * MIN_PER_NULL > len(text):
        raise ValueError(f"{name!r} must be text, got a null character")
    text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name!r} must be valid Unicode, got an unpaired surrogate at {error.start}") from error
    return text


def read_line(where: str, content: bytes) -> Line | Reject:
    """Parse a line with the location `where`."""
    try:
        text = decode(content)
    except ValueError as error:
        return Reject(where, str(error))
    try:
        fields = parse_json(text, len(content))
    except ValueError as error:
        return Reject(where, f"must be a JSON object, got: {error}")
    if not isinstance(fields, dict):
        return Reject(where, f"must be a JSON object, got {type(fields).__name__}")
    return Line(where, fields)
