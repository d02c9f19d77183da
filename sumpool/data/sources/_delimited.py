"""Rows of tables in text files (CSV, TSV), below a header line that shows what separates cells."""

import csv
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO

from sumpool.documents.document import DEFAULT_LIMITS
from sumpool.documents.files import READ_ERRORS, decode, open_bytes, read_lines_limited, uncompressed_suffix
from sumpool.documents.json_lines import Line, Reject
from sumpool.documents.rows import guess_separator
from sumpool.errors import DataError

MAX_CELL = 1 << 26
"""Characters of a cell; Python's default, 131,072, is less than a book."""


def read_rows(path: Path, *, quotes: bool = True) -> Iterator[Line | Reject]:
    """Read the rows of a file below its header; the location of a row is its first line.

    Raises:
        DataError: If the file is missing or truncated, or its header cannot be read.
    """
    with open_bytes(path) as file:
        rows = _cells(path, file, quotes=quotes)
        header = _header(rows, path)
        for where, cells in rows:
            if isinstance(cells, str):
                yield Reject(where, cells)
            elif len(cells) == len(header):
                yield Line(where, dict(zip(header, cells, strict=True)))
            else:
                yield Reject(where, f"must have {len(header)} cells like the header, got {len(cells)}")


def read_header(path: Path, *, quotes: bool = True) -> Sequence[str]:
    """Return the column names of a file; empty if the file is.

    Raises:
        DataError: If the file or its header cannot be read, or a name is repeated.
    """
    with open_bytes(path) as file:
        return _header(_cells(path, file, quotes=quotes), path)


def _header(rows: Iterator[tuple[str, Sequence[str] | str]], path: Path) -> Sequence[str]:
    where, header = next(rows, (str(path), []))
    if isinstance(header, str):
        raise DataError(f"{where} {header}")
    repeated = [name for number, name in enumerate(header) if name in header[:number]]
    if repeated:
        raise DataError(f"{where} must have different column names, got {repeated[0]!r} twice")
    return header


def _cells(path: Path, file: IO[bytes], *, quotes: bool) -> Iterator[tuple[str, Sequence[str] | str]]:
    """Read the rows of a file: location and cells, or location and the reason why there are none."""
    line, fault = 0, ""
    contents = _lines(path, file)
    first = list(islice(contents, 1))
    kind = "tsv" if uncompressed_suffix(path) in (".tsv", ".tab") else "csv"
    separator = guess_separator(b"".join(first).decode(errors="replace"), kind)

    def decoded() -> Iterator[str]:
        """Decode line by line; an undecodable line is read in part, and its row becomes a fault."""
        nonlocal line, fault
        for content in chain(first, contents):
            line += 1
            try:
                yield decode(content)
            except ValueError as error:
                fault = fault or f"{error} (line {line})"
                yield content.decode(errors="replace").replace("\0", "")

    csv.field_size_limit(max(MAX_CELL, csv.field_size_limit()))  # a setting of the process, which only grows
    reader = csv.reader(
        decoded(), delimiter=separator, quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE, strict=True
    )
    while True:
        where, fault = f"{path}:{line + 1}", ""
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problem = f"{error} in line {line}"
            if str(error) == "unexpected end of data":
                problem = "a double quote that is never closed; set data.source.quotes=false if quotes are plain text"
            yield where, f"must be a row of cells, got: {problem}"
            continue
        if cells:  # no empty line
            yield where, fault or cells


def _lines(path: Path, file: IO[bytes]) -> Iterator[bytes]:
    number = 0
    try:
        for content in read_lines_limited(file, DEFAULT_LIMITS, str(path)):
            number += 1
            yield content
    except READ_ERRORS as error:
        raise DataError(f"{path} must be complete, got: {error} after line {number}; get the file again") from error
