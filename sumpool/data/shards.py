"""Documents of a prepared split in memory-mapped files: their texts, and the token ids of all documents concatenated.

    texts.jsonl    texts, one JSON line per document
    texts.bin      int64 (documents + 1,), byte offsets of these lines
    tokens.bin     token ids of the documents, uint16 or int32 as stated in shard.json
    sentences.bin  int32, index within its document of the first token of each sentence
    target.bin     token ids of the summaries without EOS, same type as tokens.bin
    names.bin      document ids, UTF-8
    index.bin      int64 (documents + 1, 4), end of each document in the four files above

All files are little-endian. Documents are not truncated; batches truncate them to the model's length. A pair of
documents is stored as one with the padding token, which no text contains, between its two parts.
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sumpool.data.config import Example, Split
from sumpool.errors import DataError
from sumpool.io.bounded import open_regular, parse_json, read_json

_OFFSET = np.dtype("<i8")
_START = np.dtype("<i4")
_TOKENS: dict[str, np.dtype] = {"uint16": np.dtype("<u2"), "int32": np.dtype("<i4")}
_ADVICE = "run sumpool prepare again"
_COLUMNS = ("tokens", "sentences", "target", "names")


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
        self._ends.write(np.zeros(1, _OFFSET).tobytes())

    def add(self, example: Example) -> None:
        """Append a document with its summary.

        Raises:
            OSError: If the disk is full or fails.
        """
        row = {"id": example.id, "document": example.document, "summary": example.summary}
        if example.second:
            row["second"] = example.second
        self._end += self._lines.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        self._ends.write(np.array(self._end, _OFFSET).tobytes())
        self.documents += 1


class Texts:
    """Sequence of the documents and summaries of a split, read from disk on access."""

    def __init__(self, folder: Path, split: Split) -> None:
        """Open the texts of a prepared folder.

        Raises:
            DataError: If a file is missing or truncated.
        """
        self._path = folder / split / "texts.jsonl"
        self._split = split
        self._offsets = _open_offsets(folder / split / "texts.bin", 1)[:, 0]
        open_array(self._path, np.dtype(np.uint8), int(self._offsets[-1]))

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
            DataError: If a line is damaged.
        """
        with open_regular(self._path) as lines:
            lines.seek(int(self._offsets[start]))
            for index in range(start, stop):
                line = lines.readline()
                try:
                    match parse_json(line, len(line)):
                        case {"id": str(name), "document": str(document), "summary": str(summary), **rest}:
                            yield Example(name, document, summary, self._split, str(rest.get("second", "")))
                            continue
                    problem = "another line"
                except ValueError as error:
                    problem = str(error)
                raise DataError(f"{self._path}:{index + 1} must be a document, got {problem}; {_ADVICE}")


@dataclass(frozen=True, eq=False)
class Item:
    """A tokenised document, not truncated.

    Attributes:
        id: Document id.
        ids: (length,) token ids.
        sentences: (length,) sentence number of each token.
        target: (target,) token ids of the summary without EOS; None if there is no summary.
    """

    id: str
    ids: np.ndarray
    sentences: np.ndarray
    target: np.ndarray | None


class ShardWriter(ExitStack):
    """Context manager that writes a shard document by document."""

    def __init__(self, folder: Path, split: Split, vocabulary: int) -> None:
        super().__init__()
        (folder / split).mkdir(parents=True, exist_ok=True)
        name = "uint16" if vocabulary <= 1 << 16 else "int32"
        self._dtype = _TOKENS[name]
        self._ends = np.zeros(len(_COLUMNS), _OFFSET)
        (folder / split / "shard.json").write_text(json.dumps({"tokens": name}) + "\n")
        *self._columns, self._index = (
            self.enter_context((folder / split / f"{column}.bin").open("wb")) for column in (*_COLUMNS, "index")
        )
        self._index.write(self._ends.tobytes())

    def add(self, item: Item) -> None:
        """Append a document with its summary.

        Raises:
            OSError: If the disk is full or fails.
        """
        assert item.target is not None, "a prepared document has a summary"
        # The first token of each sentence; an empty sentence has that of the next one.
        sentences = int(item.sentences[-1]) + 1 if len(item.sentences) else 0
        arrays: tuple[npt.NDArray[Any], ...] = (
            item.ids.astype(self._dtype),
            np.searchsorted(item.sentences, np.arange(sentences)).astype(_START),
            item.target.astype(self._dtype),
            np.frombuffer(item.id.encode(), np.uint8),
        )
        for file, array in zip(self._columns, arrays, strict=True):
            file.write(array.tobytes())
        self._ends += [len(array) for array in arrays]
        self._index.write(self._ends.tobytes())


class Shard:
    """Sequence of the tokenised documents of a split, as `Item`s with memory-mapped arrays."""

    def __init__(self, folder: Path, split: Split, vocabulary: int = 1 << 31) -> None:
        """Open a split of a prepared folder without reading it.

        Args:
            folder: The folder.
            split: The split.
            vocabulary: Size of the vocabulary; ids of a document are compared with it when they are read.

        Raises:
            DataError: If a file is missing or of another size, or the index is damaged.
        """
        self._folder = folder / split
        self._vocabulary = vocabulary
        self._index = _open_offsets(self._folder / "index.bin", len(_COLUMNS))
        path = self._folder / "shard.json"
        try:
            tokens = _TOKENS[read_json(path, DataError, _ADVICE)["tokens"]]
        except (KeyError, TypeError) as error:
            raise DataError(f"{path} must state the type of the token ids, got {error!r}; {_ADVICE}") from error
        dtypes: tuple[np.dtype, ...] = (tokens, _START, tokens, np.dtype(np.uint8))
        self._columns = [
            open_array(self._folder / f"{column}.bin", dtype, int(length))
            for column, dtype, length in zip(_COLUMNS, dtypes, self._index[-1], strict=True)
        ]
        self._texts = Texts(folder, split)
        if len(self._texts) != len(self):
            raise DataError(f"{path.parent} must list {len(self._texts):,} documents, got {len(self):,}; {_ADVICE}")

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each document: (documents,)."""
        return np.diff(self._index[:, 0])

    @property
    def target_lengths(self) -> np.ndarray:
        """Number of tokens of each summary, without EOS: (documents,)."""
        return np.diff(self._index[:, _COLUMNS.index("target")])

    def first_place(self, token: int) -> np.ndarray:
        """Index of the first occurrence of a token in each document, (documents,); the length where there is none."""
        indices = np.append(np.flatnonzero(self._columns[0] == token), np.iinfo(np.int64).max)
        starts = self._index[:-1, 0]
        first: np.ndarray = np.minimum(indices[np.searchsorted(indices, starts)] - starts, self.lengths)
        return first

    def __len__(self) -> int:
        return len(self._index) - 1

    def __getitem__(self, index: int) -> Item:
        ids, starts, target, name = (
            array[start:end]
            for array, start, end in zip(self._columns, self._index[index], self._index[index + 1], strict=True)
        )
        for tokens in (ids, target):
            if len(tokens) and not 0 <= tokens.min() <= tokens.max() < self._vocabulary:
                raise DataError(
                    f"{self._folder} must hold ids from 0 to {self._vocabulary - 1:,}, got {tokens.min():,} to "
                    f"{tokens.max():,} in document {index + 1}; {_ADVICE}"
                )
        sentences = np.searchsorted(starts, np.arange(len(ids)), side="right").astype(np.int32) - 1
        return Item(name.tobytes().decode(errors="replace"), ids, sentences, target)

    def text(self, index: int) -> Example:
        """Read the texts of a document and its summary."""
        return self._texts[index]


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
        raise DataError(f"{path} must have {expected} bytes, got {size}; the file is damaged, {_ADVICE}")
    if not size:
        return np.empty(0, dtype)  # an empty file cannot be mapped
    return np.memmap(path, dtype, mode="r")


def _open_offsets(path: Path, columns: int) -> np.ndarray:
    """Map a file of offsets (rows, columns), which begin with 0 and never decrease in each column."""
    offsets = open_array(path, _OFFSET)
    if len(offsets) % columns:
        raise DataError(f"{path} must have {columns} numbers for each document, got {len(offsets)}; {_ADVICE}")
    offsets = offsets.reshape(-1, columns)
    if offsets[0].any() or (np.diff(offsets, axis=0) < 0).any():
        raise DataError(f"{path} must hold offsets that begin with 0 and grow, got others; {_ADVICE}")
    return offsets
