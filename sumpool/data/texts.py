"""The texts of a prepared split: one JSON line per document, and where each line ends.

`texts.jsonl` is for people and for evaluation; `texts.bin` (little-endian int64, documents + 1 offsets in bytes) finds
a line without reading those before it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from sumpool.data.files import open_array, sync_and_close
from sumpool.data.sources._base import Example, Split

OFFSET = np.dtype("<i8")


class TextsWriter:
    """Writes documents one by one; `with` closes the files once they are safe on the disk."""

    def __init__(self, folder: Path, split: Split) -> None:
        (folder / split).mkdir(parents=True, exist_ok=True)
        self.documents = 0
        self._end = 0
        self._lines = (folder / split / "texts.jsonl").open("wb")
        self._ends = (folder / split / "texts.bin").open("wb")
        self._ends.write(np.zeros(1, OFFSET).tobytes())

    def add(self, example: Example) -> None:
        """Append a document with its summary.

        Raises:
            OSError: If the disk is full.
        """
        row = {"id": example.id, "document": example.document, "summary": example.summary}
        self._end += self._lines.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        self._ends.write(np.array(self._end, OFFSET).tobytes())
        self.documents += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sync_and_close((self._lines, self._ends))


class Texts:
    """The documents and summaries of a split, read one at a time from the disk."""

    def __init__(self, path: Path, split: Split, offsets: np.ndarray) -> None:
        self._path = path
        self._split = split
        self._offsets = offsets

    @classmethod
    def open(cls, folder: Path, split: Split) -> Self:
        """Open the texts of a prepared folder.

        Raises:
            DataError: If they are missing or cut off.
        """
        offsets = open_array(folder / split / "texts.bin", OFFSET)
        lines = folder / split / "texts.jsonl"
        open_array(lines, np.dtype(np.uint8), int(offsets[-1]))
        return cls(lines, split, offsets)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, number: int) -> Example:
        return next(self.read(number, number + 1))

    def __iter__(self) -> Iterator[Example]:
        return self.read(0, len(self))

    def sizes(self) -> np.ndarray:
        """Bytes of each document's line: (documents,)."""
        return np.diff(self._offsets)

    def read(self, start: int, stop: int) -> Iterator[Example]:
        """Read the documents from `start` up to and without `stop`.

        Raises:
            IndexError: If there is no such document.
        """
        if not 0 <= start <= stop <= len(self):
            raise IndexError(f"documents must lie within 0 and {len(self)}, got {start} to {stop}")
        with self._path.open("rb") as lines:
            lines.seek(int(self._offsets[start]))
            for _ in range(start, stop):
                row = json.loads(lines.readline())
                yield Example(row["id"], row["document"], row["summary"], self._split)
