"""Documents from files, folders and standard input, read one at a time."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from sumpool.documents.document import DEFAULT_OPTIONS, Document, ReadOptions
from sumpool.documents.files import READ_ERRORS, decode, open_bytes, uncompressed_suffix
from sumpool.documents.formats import FORMATS, load_format
from sumpool.documents.json_lines import DOCUMENT_FIELDS, ID_FIELDS, Line, Reject, guess_field, read_lines, text_of
from sumpool.errors import DataError

STDIN: Final = "-"
"""Argument that stands for standard input."""

_TEXT_SUFFIXES = ("", ".txt", ".text", ".md", ".markdown")
_SUPPORTED = ".txt, .md or .jsonl (also with .gz or .zst), a folder of them, or - for stdin"


def read_documents(
    name: str, options: ReadOptions = DEFAULT_OPTIONS, stdin: BinaryIO | None = None
) -> Iterator[Document]:
    """Read the documents of one command-line argument; the files of a folder in alphabetical order.

    Args:
        name: File, folder or "-".
        options: Options of reading.
        stdin: Stream read for "-"; by default standard input.
    """
    path = Path(name)
    if name == STDIN:
        yield _from_bytes(STDIN, (stdin or sys.stdin.buffer).read())
    elif path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts):
                yield from _read_file(file, options)
    else:
        yield from _read_file(path, options)


def _read_file(path: Path, options: ReadOptions) -> Iterator[Document]:
    suffix = uncompressed_suffix(path)
    try:
        if suffix == ".jsonl":
            yield from _read_json_lines(path, options.field)
        elif suffix in _TEXT_SUFFIXES:
            with open_bytes(path) as file:
                yield _from_bytes(str(path), file.read())
        elif suffix in FORMATS:
            with open_bytes(path) as file:
                yield Document.from_parsed(str(path), load_format(FORMATS[suffix]).parse(file.read(), options))
        else:
            yield Document(str(path), "", f"{path} must be {_SUPPORTED}, got {suffix}; convert it to text")
    except DataError as error:
        yield Document(str(path), "", str(error))
    except ValueError as error:
        yield Document(str(path), "", f"{path} {error}")
    except READ_ERRORS as error:
        yield Document(str(path), "", f"{path} must be complete, got: {error}; get the file again")


def _read_json_lines(path: Path, field: str | None) -> Iterator[Document]:
    for line in read_lines(path):
        if isinstance(line, Reject):
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
    """Return the id in a line; its location if there is none."""
    value = line.fields.get(guess_field(line.fields, ID_FIELDS) or "")
    return str(value) if isinstance(value, str | int) and str(value).strip() else line.where


def _from_bytes(name: str, content: bytes) -> Document:
    try:
        return Document(name, decode(content))
    except ValueError as error:
        return Document(name, "", f"{'stdin' if name == STDIN else name} {error}")
