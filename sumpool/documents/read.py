"""Whatever a user names on the command line, as documents, one at a time."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from sumpool.documents.files import BROKEN, decode, open_bytes, plain_suffix
from sumpool.documents.json_lines import DOCUMENT_FIELDS, ID_FIELDS, BadLine, Line, guess_field, read_lines, text_of
from sumpool.errors import DataError

STDIN: Final = "-"
"""The name of standard input."""

_TEXT = ("", ".txt", ".text", ".md", ".markdown")
_SUPPORTED = ".txt, .md or .jsonl (also with .gz or .zst), a folder of them, or - for stdin"


@dataclass(frozen=True)
class Document:
    """A text to summarise, or the reason why it cannot be read: every document has a row in the output.

    Attributes:
        id: The path as given, `path:line` or the id in the line, or "-" for stdin.
        text: The text; may be empty.
        error: Why there is no text, in a sentence that says what to do; empty where all is well.
    """

    id: str
    text: str
    error: str = ""


def read_documents(name: str, field: str | None = None, stdin: BinaryIO | None = None) -> Iterator[Document]:
    """Read everything that one argument names; a folder gives its files in alphabetical order.

    Args:
        name: A file, a folder or "-".
        field: The field of JSON lines that holds the text; by default the first of the usual names.
        stdin: Where "-" reads; by default the standard input.
    """
    path = Path(name)
    if name == STDIN:
        yield _from_bytes(STDIN, (stdin or sys.stdin.buffer).read())
    elif path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts):
                yield from _read_file(file, field)
    else:
        yield from _read_file(path, field)


def _read_file(path: Path, field: str | None) -> Iterator[Document]:
    suffix = plain_suffix(path)
    try:
        if suffix == ".jsonl":
            yield from _read_json_lines(path, field)
        elif suffix in _TEXT:
            with open_bytes(path) as file:
                yield _from_bytes(str(path), file.read())
        else:
            yield Document(str(path), "", f"{path} must be {_SUPPORTED}, got {suffix}; convert it to text")
    except DataError as error:
        yield Document(str(path), "", str(error))
    except BROKEN as error:
        yield Document(str(path), "", f"{path} must be whole, got: {error}; get the file again")


def _read_json_lines(path: Path, field: str | None) -> Iterator[Document]:
    for line in read_lines(path):
        if isinstance(line, BadLine):
            yield Document(line.where, "", f"{line.where} {line.reason}")
            continue
        name = _name(line)
        try:
            text = text_of(line.fields, field or guess_field(line.fields, DOCUMENT_FIELDS) or DOCUMENT_FIELDS[0])
        except ValueError as error:
            yield Document(name, "", f"{line.where} {error}")
        else:
            yield Document(name, text)


def _name(line: Line) -> str:
    """Give the id in a line, or its place where it has none."""
    own = line.fields.get(guess_field(line.fields, ID_FIELDS) or "")
    return str(own) if isinstance(own, str | int) and str(own).strip() else line.where


def _from_bytes(name: str, content: bytes) -> Document:
    try:
        return Document(name, decode(content))
    except ValueError as error:
        return Document(name, "", f"{'stdin' if name == STDIN else name} {error}")
