"""Rows with a text: JSON lines, and Parquet by pyarrow (extra `parquet`)."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from sumpool.data.sources._base import Fields
from sumpool.data.sources.parquet import ParquetSourceConfig
from sumpool.documents.document import Limits, Reject
from sumpool.documents.files import read_lines_limited
from sumpool.documents.json_lines import Line, parse_lines, text_of
from sumpool.tasks.language_modeling.sources._base import CHUNK_CHARACTERS, TextChunk, open_plain_or_packed


def json_texts(path: Path, limits: Limits, field: str) -> Iterator[TextChunk | Reject]:
    """Read the texts of JSON lines.

    Raises:
        DataError: If the file is missing or damaged, or a row is too long.
    """
    return _texts(parse_lines(str(path), _lines(path, limits)), field)


def parquet_texts(path: Path, limits: Limits, column: str) -> Iterator[TextChunk | Reject]:
    """Read the texts of a Parquet file.

    Raises:
        DataError: If the file is missing or damaged, or has no such column.
        RecipeError: If pyarrow is not installed.
    """
    source = ParquetSourceConfig(
        path=path, document=column, summary=column, max_bytes=limits.max_bytes, max_ratio=limits.max_ratio
    )
    source.fields_of(path)  # the file has the column
    return _texts(source.lines(path, Fields(column, column, None)), column)


def _lines(path: Path, limits: Limits) -> Iterator[bytes]:
    with open_plain_or_packed(path, limits) as file:
        yield from read_lines_limited(file, limits, str(path))


def _texts(rows: Iterable[Line | Reject], field: str) -> Iterator[TextChunk | Reject]:
    for row in rows:
        if isinstance(row, Reject):
            yield row
            continue
        try:
            text = text_of(row.fields, field)
        except ValueError as error:
            yield Reject(row.where, str(error))
            continue
        for start in range(0, len(text), CHUNK_CHARACTERS):
            yield TextChunk(row.where, text[start : start + CHUNK_CHARACTERS])
