"""Documents of a part with the columns that they come with, and the file of their summaries."""

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from sumpool.corpora.files import is_uri, open_content, open_seekable
from sumpool.corpora.parts import Part
from sumpool.documents.document import Document, ReadOptions
from sumpool.documents.files import read_limited, read_lines_limited, uncompressed_suffix
from sumpool.documents.json_lines import Line, Reject, parse_lines
from sumpool.documents.read import parse_documents, read_documents
from sumpool.documents.rows import row_document
from sumpool.errors import first_line
from sumpool.inference.summary import Summary
from sumpool.io.atomic import disk_errors, replace_file

_BATCH_ROWS = 64
_ALTERNATIVE = "generated_"
"""Prefix of our column if the corpus has one of the same name."""


@dataclass(frozen=True)
class PartRows:
    """Documents of a part with their columns.

    Attributes:
        documents: The documents.
        fields: Columns of each, in JSON.
        table: Columns of all (`pyarrow.Table`) if the part is Parquet, instead of `fields`.
    """

    documents: Sequence[Document]
    fields: Sequence[dict[str, Any]] = ()
    table: Any = None


def read_part(part: Part, options: ReadOptions) -> PartRows:
    """Read the documents of a part.

    Raises:
        DataError: If a file cannot be read that could when the corpus was divided.
    """
    if part.kind == "parquet":
        return _read_parquet(part, options)
    if part.kind == "lines":
        lines = list(_read_lines(part, options))
        fields = [dict(line.fields) if isinstance(line, Line) else {} for line in lines]
        return PartRows([row_document(line, options) for line in lines], fields)
    documents = [document for file in part.files for document in _read_file(file, options)]
    return PartRows(documents, [{"id": document.id, "title": document.title} for document in documents])


def write_part(folder: Path, part: Part, rows: PartRows, summaries: Sequence[Summary], *, evidence: bool) -> None:
    """Write the rows of a part with their summaries, so that the file is complete once it has its name.

    Args:
        folder: Folder of the file.
        part: The part.
        rows: Its rows.
        summaries: Summary of each document.
        evidence: Whether the rows have a column of evidence.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    path, content = folder / part.name, io.BytesIO()
    columns = [_columns(summary, evidence=evidence) for summary in summaries]
    if rows.table is None:
        _write_lines(content, rows.fields, columns)
    else:
        _write_parquet(content, rows.table, columns)
    with disk_errors(path, advice="go on with --resume"):
        replace_file(path, content.getvalue())


def _read_parquet(part: Part, options: ReadOptions) -> PartRows:
    import pyarrow
    from pyarrow import parquet

    tables = []
    try:
        with open_seekable(part.files[0]) as stream:
            file = parquet.ParquetFile(stream, page_checksum_verification=True)
            groups, position = _row_groups(file.metadata, part)
            for batch in file.iter_batches(_BATCH_ROWS, row_groups=groups, use_threads=False):
                first, last = max(part.start - position, 0), min(part.stop - position, batch.num_rows)
                if first < last:
                    tables.append(pyarrow.Table.from_batches([batch.slice(first, last - first)]))
                position += batch.num_rows
                if position >= part.stop:
                    break
    except (OSError, pyarrow.ArrowException) as error:
        reason = f"{part.files[0]} must be complete, got: {first_line(error)}; get the file again"
        return PartRows([Document(part.files[0], "", reason)], table=pyarrow.table({"id": [part.files[0]]}))
    table = pyarrow.concat_tables(tables)
    rows = (Line(f"{part.files[0]}:{number}", row) for number, row in enumerate(table.to_pylist(), part.start + 1))
    return PartRows([row_document(row, options) for row in rows], table=table)


def _row_groups(metadata: Any, part: Part) -> tuple[list[int], int]:  # noqa: ANN401 - pyarrow is untyped
    """Return the row groups of a Parquet file that hold the rows of a part, and the first row of the first of them."""
    groups: list[int] = []
    first = position = 0
    for group in range(metadata.num_row_groups):
        end = position + metadata.row_group(group).num_rows
        if position < part.stop and end > part.start:
            first = first if groups else position
            groups.append(group)
        position = end
    return groups, first


def _read_lines(part: Part, options: ReadOptions) -> Iterator[Line | Reject]:
    name = part.files[0]
    with open_content(name, options.limits) as file:
        lines: Iterator[bytes] = read_lines_limited(file, options.limits, name)
        if file.seekable():
            file.seek(part.offset)
            lines = islice(lines, part.stop - part.start)
        else:
            lines = islice(lines, part.start, part.stop)
        yield from parse_lines(name, lines, part.start + 1)


def _read_file(name: str, options: ReadOptions) -> Iterator[Document]:
    if not is_uri(name):
        yield from read_documents(name, options)
        return

    def read() -> bytes:
        with open_seekable(name) as file:
            return read_limited(file, options.limits)

    yield from parse_documents(name, uncompressed_suffix(Path(name)), read, options)


def _columns(summary: Summary, *, evidence: bool) -> dict[str, Any]:
    """Return the columns of a summary, which depend on model, settings and document alone."""
    columns = {
        "summary": summary.summary,
        "mode": summary.mode,
        "tokens_read": summary.tokens_read,
        "tokens_total": summary.tokens_total,
        "reason": summary.reason,
    }
    entries = {"evidence": summary.evidence.entries() if summary.evidence else []}
    return columns | entries if evidence else columns


def _write_lines(file: IO[bytes], fields: Sequence[dict[str, Any]], columns: Sequence[dict[str, Any]]) -> None:
    for row, added in zip(fields, columns, strict=True):
        ours = {_free_name(name, row): value for name, value in added.items()}
        line = json.dumps({**row, **ours}, ensure_ascii=False) + "\n"
        file.write(line.encode("utf-8", errors="backslashreplace"))


def _write_parquet(file: IO[bytes], table: Any, columns: Sequence[dict[str, Any]]) -> None:  # noqa: ANN401 - pyarrow
    import pyarrow
    from pyarrow import parquet

    text, number = pyarrow.string(), pyarrow.int64()
    source = [("text", text), ("start", number), ("end", number), ("page", number), ("line", number)]
    sources = pyarrow.list_(pyarrow.struct([*source, ("weight", pyarrow.float64())]))
    sentence = [("sentence", text), ("unsupported", pyarrow.list_(text)), ("sources", sources)]
    types = {
        "tokens_read": number,
        "tokens_total": number,
        "evidence": pyarrow.list_(pyarrow.struct(sentence)),
    }
    for name in columns[0]:
        values = pyarrow.array([row[name] for row in columns], types.get(name, text))
        table = table.append_column(_free_name(name, table.column_names), values)
    parquet.write_table(table, file)


def _free_name(name: str, used: Sequence[str] | dict[str, Any]) -> str:
    return f"{_ALTERNATIVE}{name}" if name in used else name
