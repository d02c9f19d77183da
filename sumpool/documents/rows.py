"""Rows as documents: JSON lines, Parquet (extra `parquet`), CSV and TSV."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, Final

from sumpool.documents.decoding import MIN_PER_NULL, decode_text, invisible_note
from sumpool.documents.document import DEFAULT_LIMITS, Document, Limits, ReadOptions
from sumpool.documents.document import Reject as Reject
from sumpool.documents.files import READ_ERRORS, decode, open_bytes, read_lines_limited
from sumpool.errors import DataError, first_line
from sumpool.io.bounded import parse_json
from sumpool.text.cleaning import remove_invisible

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


def parse_lines(where: str, lines: Iterable[bytes]) -> Iterator[Line | Reject]:
    """Parse lines as they are read, ignoring blank ones.

    Args:
        where: Name of the file, for locations and messages.
        lines: The lines.

    Raises:
        DataError: If reading fails.
    """
    number = 0
    try:
        for number, content in enumerate(lines, 1):
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


_MAX_FIELD = 2**30
_SEPARATORS = ",;\t|"
"""Usual separators; of two that fit equally, the first is meant."""
_QUOTED = re.compile(r'"[^"]*"?')


def row_documents(where: str, content: bytes, kind: str, options: ReadOptions) -> Iterator[Document]:
    """Yield a document per row.

    Args:
        where: Name of the file, for ids and messages.
        content: Uncompressed content.
        kind: "jsonl", "parquet", "csv" or "tsv".
        options: Options of reading.

    Raises:
        DataError: If the content is damaged, or pyarrow is not installed.
        ValueError: If it is not text; the message lacks the subject.
    """
    if kind == "jsonl":
        lines: Iterator[Line | Reject] = parse_lines(where, read_lines_limited(BytesIO(content), options.limits, where))
    elif kind == "parquet":
        lines = _parquet(where, content, options)
    else:
        lines = _separated(where, decode_text(content)[0], kind)
    yield from (row_document(line, options) for line in lines)


def _parquet(where: str, content: bytes, options: ReadOptions) -> Iterator[Line | Reject]:
    try:
        from pyarrow import ArrowException, BufferReader, parquet
    except ImportError as error:
        raise DataError(f"{where} needs pyarrow, which is not installed: pip install 'sumpool[parquet]'") from error
    number = 0
    try:
        with parquet.ParquetFile(BufferReader(content), page_checksum_verification=True) as file:
            present = file.schema_arrow.names
            wanted = (options.field, options.trained_field, *DOCUMENT_FIELDS, *ID_FIELDS, "title")
            names = [name for name in dict.fromkeys(wanted) if name in present] or present[:12]
            for batch in file.iter_batches(64, columns=names, use_threads=False):
                for row in batch.to_pylist():
                    number += 1
                    yield Line(f"{where}:{number}", row)
    except (OSError, ArrowException, UnicodeDecodeError) as error:
        raise DataError(
            f"{where} must be complete, got: {first_line(error)} after row {number}; get the file again"
        ) from error


def unpacked_bytes(metadata: Any) -> int:  # noqa: ANN401 - pyarrow is untyped
    """Return the uncompressed size of the columns of a Parquet file, by its metadata."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    return sum(max(0, group.total_byte_size) for group in groups)


def guess_separator(header: str, kind: str) -> str:
    """Return the separator of a table in text: a tab in TSV, else the most frequent usual one outside quotes.

    Args:
        header: First line.
        kind: "csv" or "tsv".
    """
    return "\t" if kind == "tsv" else max(_SEPARATORS, key=_QUOTED.sub("", header).count)


def _separated(where: str, text: str, kind: str) -> Iterator[Line | Reject]:
    """Read CSV or TSV with a header."""
    header = text.lstrip("\ufeff").partition("\n")[0]
    csv.field_size_limit(_MAX_FIELD)
    try:
        reader = csv.reader(StringIO(text, newline=""), delimiter=guess_separator(header, kind))
        names = next(reader, [])
        for row in reader:
            location = f"{where}:{reader.line_num}"
            if len(row) > len(names):
                yield Reject(location, f"must have {len(names)} columns, got {len(row)}")
            elif row:
                yield Line(location, dict(zip(names, row, strict=False)))
    except csv.Error as error:
        yield Reject(where, f"must be separated values, got: {error}")


def row_document(line: Line | Reject, options: ReadOptions) -> Document:
    """Take text, id and title of a document from the fields of a row; what is wrong with it is its error."""
    if isinstance(line, Reject):
        return Document(line.where, "", f"{line.where} {line.reason}")
    value = line.fields.get(guess_field(line.fields, ID_FIELDS) or "")
    name = str(value) if isinstance(value, str | int) and str(value).strip() else line.where
    try:
        trained = options.trained_field if options.trained_field in line.fields else None
        field = options.field or trained or guess_field(line.fields, DOCUMENT_FIELDS) or DOCUMENT_FIELDS[0]
        text = text_of(line.fields, field)
    except ValueError as error:
        return Document(name, "", f"{line.where} {error}")
    text, invisible = remove_invisible(text)
    title = line.fields.get(guess_field(line.fields, ("title",)) or "")
    title = " ".join(remove_invisible(title)[0].split()) if isinstance(title, str) else ""
    return Document(name, text, title=title, notes=invisible_note(invisible))
