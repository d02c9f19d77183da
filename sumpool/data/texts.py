"""Texts of a prepared split: one JSON line per document with random access.

`texts.jsonl` holds the texts, `texts.bin` the byte offsets of its lines (little-endian int64, documents + 1).
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import numpy as np

from sumpool.data.inputs import Split
from sumpool.data.sources._base import Example
from sumpool.errors import DataError
from sumpool.io.bounded import open_regular, parse_json

OFFSET = np.dtype("<i8")


class TextsWriter(ExitStack):
    """Context manager that writes the texts of a split document by document.

    Attributes:
        documents: Documents written so far.
    """

    def __init__(self, folder: Path, split: Split) -> None:
        super().__init__()
        (folder / split).mkdir(parents=True, exist_ok=True)
        self.documents = 0
        self._end = 0
        self._lines = self.enter_context((folder / split / "texts.jsonl").open("wb"))
        self._ends = self.enter_context((folder / split / "texts.bin").open("wb"))
        self._ends.write(np.zeros(1, OFFSET).tobytes())

    def add(self, example: Example) -> None:
        """Append a document with its summary.

        Raises:
            OSError: If the disk is full or fails.
        """
        row = {"id": example.id, "document": example.document, "summary": example.summary}
        if example.second:
            row["second"] = example.second
        self._end += self._lines.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        self._ends.write(np.array(self._end, OFFSET).tobytes())
        self.documents += 1


class Texts:
    """Sequence of the documents and summaries of a split, read from disk on access."""

    def __init__(self, path: Path, split: Split, offsets: np.ndarray) -> None:
        self._path = path
        self._split = split
        self._offsets = offsets

    @classmethod
    def open(cls, folder: Path, split: Split) -> Self:
        """Open the texts of a prepared folder.

        Raises:
            DataError: If a file is missing or truncated.
        """
        offsets = open_array(folder / split / "texts.bin", OFFSET)
        require_offsets(offsets, folder / split / "texts.bin")
        lines = folder / split / "texts.jsonl"
        open_array(lines, np.dtype(np.uint8), int(offsets[-1]))
        return cls(lines, split, offsets)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, index: int) -> Example:
        return next(self.read(index, index + 1))

    def __iter__(self) -> Iterator[Example]:
        return self.read(0, len(self))

    def sizes(self) -> np.ndarray:
        """Return the size of each line in bytes: (documents,)."""
        return np.diff(self._offsets)

    def read(self, start: int, stop: int) -> Iterator[Example]:
        """Read the documents from `start` to `stop`, exclusive.

        Raises:
            IndexError: If the range exceeds the documents.
            DataError: If a line is damaged.
        """
        if not 0 <= start <= stop <= len(self):
            raise IndexError(f"document range must be within 0 and {len(self)}, got {start} to {stop}")
        with open_regular(self._path) as lines:
            lines.seek(int(self._offsets[start]))
            for index in range(start, stop):
                yield self._parse(lines.readline(), index)

    def _parse(self, line: bytes, index: int) -> Example:
        """Parse a line; raise a DataError for one that `TextsWriter` did not write."""
        try:
            match parse_json(line, len(line)):
                case {"id": str(name), "document": str(document), "summary": str(summary), **rest}:
                    second = rest.get("second", "")
                    return Example(name, document, summary, self._split, second if isinstance(second, str) else "")
            problem = "another line"
        except ValueError as error:
            problem = str(error)
        raise DataError(f"{self._path}:{index + 1} must be a document, got {problem}; run sumpool prepare again")


def open_array(path: Path, dtype: np.dtype, length: int | None = None) -> np.ndarray:
    """Map a file into memory as a read-only array.

    Args:
        path: The file.
        dtype: Type of the elements.
        length: Expected number of elements; by default all in the file, at least one.

    Raises:
        DataError: If the file is missing or of another size.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise DataError(f"{path} must exist in prepared data, got {error.strerror}; run sumpool prepare") from error
    expected = size - size % dtype.itemsize if length is None else length * dtype.itemsize
    if size != expected or (length is None and not size):
        raise DataError(
            f"{path} must have {expected} bytes, got {size}; the file is damaged, run sumpool prepare again"
        )
    if not size:
        return np.empty(0, dtype)  # an empty file cannot be mapped
    return np.memmap(path, dtype, mode="r")


def require_offsets(offsets: np.ndarray, path: Path) -> None:
    """Check that offsets begin with 0 and never decrease, in each column.

    Raises:
        DataError: If they do not.
    """
    if offsets[0].any() or (np.diff(offsets, axis=0) < 0).any():
        raise DataError(f"{path} must hold offsets that begin with 0 and grow, got others; run sumpool prepare again")
