"""Rows of a source whose documents a pretraining task cuts into excerpts, in parallel.

Gap sentences take more time than everything else that is done to a document: 10 ms for one of 1,800 words, of which
reading takes .3 ms and encoding 7. The rows of the source are kept in a temporary file, whose spans workers read.
"""

import json
from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from sumpool.data.config import DataConfig
from sumpool.data.pretraining_tasks import Conversion, conversion_of
from sumpool.data.processes import OrderedMap
from sumpool.data.sources._base import Example, Reject
from sumpool.io.bounded import open_regular, parse_json
from sumpool.progress import Check, Progress, Report

TASK = "prepare: rows"
_ROWS = "rows.jsonl"
_SPAN_BYTES = 1 << 18
"""Text per span; small enough for signals to be handled within a second."""
_SMALL_BYTES = 1 << 19
"""Text that one process converts in about the time that worker processes take to start."""
_REPORT_ROWS = 20
"""Rows between progress reports."""


class RowSpan(NamedTuple):
    """Consecutive rows: bytes before the first, and number."""

    offset: int
    rows: int


class ExcerptReader:
    """Converts spans of rows to excerpts.

    Args:
        path: File of the rows.
        convert: The pretraining task.
    """

    def __init__(self, path: Path, convert: Conversion) -> None:
        self._path, self._convert = path, convert

    def __call__(self, span: RowSpan) -> list[Example | Reject]:
        """Return the excerpts of the documents of a span, in order."""
        with open_regular(self._path) as file:
            file.seek(span.offset)
            return list(self._convert(map(_parse, islice(file, span.rows))))


def read_in_parallel(
    config: DataConfig, folder: Path, execute: OrderedMap, report: Report, check: Check
) -> Generator[Example | Reject]:
    """Read the rows of a source, as `read_rows` does, in parallel if a pretraining task is set.

    Rejected rows come first then, so that a caller that stops at one does not wait for the others.

    Args:
        config: Source and settings.
        folder: Folder of the temporary file.
        execute: Converts rows in parallel.
        report: Progress callback.
        check: Called several times a second; an exception stops the work.

    Raises:
        RecipeError: If no source is set.
        DataError: If a file is missing or damaged.
    """
    rows, convert = config.require_source().rows(), conversion_of(config)
    if convert is None:
        yield from rows
        return
    path = folder / _ROWS
    spans: list[RowSpan] = []
    for written in _write(rows, path, report, check):
        if isinstance(written, Reject):
            yield written
        else:
            spans.append(written)
    workers = config.workers if path.stat().st_size > _SMALL_BYTES else 0
    with closing(execute(partial(ExcerptReader, path, convert), spans, workers, check)) as excerpts:
        for converted in excerpts:
            yield from converted
    path.unlink()


def _write(rows: Iterator[Example | Reject], path: Path, report: Report, check: Check) -> Iterator[RowSpan | Reject]:
    """Write the id, document and split of rows; yield spans of similar size, and rejected rows as they come."""
    start = end = first = count = 0
    with path.open("wb") as file:
        for number, row in enumerate(rows, 1):
            check()
            if number % _REPORT_ROWS == 0:
                report(Progress(TASK, number))
            if isinstance(row, Reject):
                yield row
                continue
            count += 1
            end += file.write(json.dumps([row.id, row.document, row.split]).encode() + b"\n")
            if end - start > _SPAN_BYTES:
                yield RowSpan(start, count - first)
                start, first = end, count
    if count > first:
        yield RowSpan(start, count - first)


def _parse(line: bytes) -> Example:
    name, document, split = parse_json(line, len(line))
    return Example(name, document, "", split)
