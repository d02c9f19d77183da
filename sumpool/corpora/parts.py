"""Division of a corpus into parts: consecutive documents, the same in every run, whose summaries become one file."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Final, Literal, NamedTuple

from sumpool.corpora.files import list_files, open_content, open_seekable
from sumpool.documents.detection import ROWS
from sumpool.documents.document import ReadOptions
from sumpool.documents.files import COMPRESSIONS, READ_ERRORS, read_lines_limited, uncompressed_suffix
from sumpool.documents.rows import unpacked_bytes
from sumpool.errors import DataError, first_line

Kind = Literal["lines", "parquet", "documents"]

PART_DOCUMENTS: Final = 16
"""Documents of a part, of which a killed worker loses one part at most."""
MAX_PARTS: Final = 4096
"""Parts of a corpus; larger ones have more documents in each."""


@dataclass(frozen=True)
class Part:
    """Consecutive documents of a corpus.

    Attributes:
        kind: "lines" for JSON lines, "parquet" for rows of Parquet, "documents" for files of any other format.
        files: The file of the rows, or the files of the documents.
        documents: Number of documents, of lines without the blank ones.
        start: First line or row, from 0.
        stop: Line or row after the last.
        offset: Bytes before the first line in a file without compression.
        index: Number of the part in the corpus.
    """

    kind: Kind
    files: tuple[str, ...]
    documents: int
    start: int = 0
    stop: int = 0
    offset: int = 0
    index: int = 0

    @property
    def name(self) -> str:
        """Name of the file of the summaries."""
        return f"part-{self.index:05d}.{'parquet' if self.kind == 'parquet' else 'jsonl'}"

    def as_json(self) -> str:
        """Render the part as JSON."""
        return json.dumps(asdict(self))


class PartResult(NamedTuple):
    """Result of a part.

    Attributes:
        part: Its number.
        file: Its file.
        documents: Number of documents.
        failed: Number of documents without a summary.
        failures: Ids of the first of those.
        tokens_read: Tokens that the model read.
        seconds: Time of the worker.
    """

    part: int
    file: str
    documents: int
    failed: int
    failures: list[str]
    tokens_read: int
    seconds: float

    def as_json(self) -> str:
        """Render the result as one line of JSON."""
        return json.dumps(self._asdict(), ensure_ascii=False)


def divide(corpus: Sequence[str], options: ReadOptions, notice: Callable[[str], None]) -> list[Part]:
    """Divide a corpus; JSON lines are read once, of Parquet only the metadata.

    Args:
        corpus: Files, folders and their URIs in object stores.
        options: Options of reading.
        notice: Called with a sentence about files that are passed over.

    Raises:
        DataError: If an object store cannot be read.
    """
    files = [file for name in corpus for file in list_files(name, options, notice)]
    small: list[Part] = []
    for kind, group in groupby(files, _kind):
        names = list(group)
        small += _divide_documents(names) if kind == "documents" else _divide_rows(names, kind, options)
    merged = _merge(small, -(-len(small) // MAX_PARTS))
    return [replace(part, index=index) for index, part in enumerate(merged)]


def _kind(name: str) -> Kind:
    path = Path(name)
    rows = ROWS.get(uncompressed_suffix(path))
    if rows == "parquet" and path.suffix not in COMPRESSIONS:
        return "parquet"
    return "lines" if rows == "jsonl" else "documents"


def _divide_rows(names: Sequence[str], kind: Kind, options: ReadOptions) -> list[Part]:
    """Divide files of rows; one that is damaged is a document, whose error says why."""
    divided: list[Part] = []
    for name in names:
        try:
            parts = list(_divide_parquet(name, options) if kind == "parquet" else _divide_lines(name, options))
        except (DataError, ValueError, *READ_ERRORS):
            parts = []
        divided += parts or [Part("documents", (name,), 1)]
    return divided


def _divide_parquet(name: str, options: ReadOptions) -> Iterator[Part]:
    from pyarrow import ArrowException, parquet

    with open_seekable(name) as file:
        try:
            metadata = parquet.ParquetFile(file).metadata
        except ArrowException as error:
            raise DataError(f"{name} must be complete, got: {first_line(error)}; get the file again") from error
        options.limits.check_ratio(unpacked_bytes(metadata), file.seek(0, os.SEEK_END))
    rows = metadata.num_rows
    for start in range(0, rows, PART_DOCUMENTS):
        stop = min(rows, start + PART_DOCUMENTS)
        yield Part("parquet", (name,), stop - start, start, stop)


def _divide_lines(name: str, options: ReadOptions) -> Iterator[Part]:
    start = offset = line_number = position = documents = 0
    with open_content(name, options.limits) as file:
        for line_number, line in enumerate(read_lines_limited(file, options.limits, name), 1):
            position += len(line)
            documents += bool(line.strip())
            if documents == PART_DOCUMENTS:
                yield Part("lines", (name,), documents, start, line_number, offset)
                start, offset, documents = line_number, position, 0
    if documents:
        yield Part("lines", (name,), documents, start, line_number, offset)


def _divide_documents(names: Sequence[str]) -> list[Part]:
    groups = [tuple(names[start : start + PART_DOCUMENTS]) for start in range(0, len(names), PART_DOCUMENTS)]
    return [Part("documents", group, len(group)) for group in groups]


def _merge(parts: Sequence[Part], count: int) -> list[Part]:
    """Merge up to `count` consecutive parts of one file, or of documents, into one."""
    merged: list[Part] = []
    taken = 0
    for part in parts:
        last = merged[-1] if merged else part
        same = part.kind == last.kind and (part.kind == "documents" or part.files == last.files)
        if merged and same and taken < count:
            files = last.files + part.files if part.kind == "documents" else last.files
            merged[-1] = replace(last, files=files, documents=last.documents + part.documents, stop=part.stop)
            taken += 1
        else:
            merged.append(part)
            taken = 1
    return merged
