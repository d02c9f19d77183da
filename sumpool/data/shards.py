"""Memory-mapped token shards: the token ids of all documents of a split, concatenated.

    tokens.bin     token ids of the documents, uint16 or int32 as stated in shard.json
    sentences.bin  int32, index within its document of the first token of each sentence
    target.bin     token ids of the summaries without EOS, same type as tokens.bin
    names.bin      document ids, UTF-8
    index.bin      int64 (documents + 1, 4), end of each document in the four files above

All files are little-endian. Documents are not truncated; batches truncate them to the model's length. A pair of
documents is stored as one with the padding token, which no text contains, between its two parts.
"""

import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from sumpool.data.inputs import Split
from sumpool.data.sources._base import Example
from sumpool.data.texts import Texts, open_array, require_offsets
from sumpool.errors import DataError
from sumpool.io.bounded import read_json

_OFFSET = np.dtype("<i8")
_START = np.dtype("<i4")
_TOKENS: dict[str, np.dtype] = {"uint16": np.dtype("<u2"), "int32": np.dtype("<i4")}
_ADVICE = "run sumpool prepare again"
_COLUMNS = ("tokens", "sentences", "target", "names")


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
        arrays = (
            item.ids.astype(self._dtype),
            _starts(item.sentences),
            item.target.astype(self._dtype),
            np.frombuffer(item.id.encode(), np.uint8),
        )
        for file, array in zip(self._columns, arrays, strict=True):
            file.write(array.tobytes())
        self._ends += [len(array) for array in arrays]
        self._index.write(self._ends.tobytes())


class Shard:
    """Sequence of the tokenised documents of a split, as `Item`s with memory-mapped arrays."""

    def __init__(
        self, path: Path, index: np.ndarray, columns: tuple[np.ndarray, ...], texts: Texts, vocabulary: int
    ) -> None:
        self._path = path
        self._index = index
        self._columns = columns
        self._texts = texts
        self._vocabulary = vocabulary

    @classmethod
    def open(cls, folder: Path, split: Split, vocabulary: int = 1 << 31) -> Self:
        """Open a split of a prepared folder without reading it.

        Args:
            folder: The folder.
            split: The split.
            vocabulary: Size of the vocabulary; ids of a document are compared with it when they are read.

        Raises:
            DataError: If a file is missing or of another size, or the index is damaged.
        """
        path = folder / split / "index.bin"
        index = open_array(path, _OFFSET)
        if len(index) % len(_COLUMNS):
            raise DataError(f"{path} must have four numbers for each document, got {len(index)}; {_ADVICE}")
        index = index.reshape(-1, len(_COLUMNS))
        require_offsets(index, path)
        token_dtype = _token_dtype(folder / split / "shard.json")
        dtypes: tuple[np.dtype, ...] = (token_dtype, _START, token_dtype, np.dtype(np.uint8))
        columns = tuple(
            open_array(folder / split / f"{column}.bin", dtype, int(length))
            for column, dtype, length in zip(_COLUMNS, dtypes, index[-1], strict=True)
        )
        texts = Texts.open(folder, split)
        if len(texts) != len(index) - 1:
            raise DataError(f"{path} must list {len(texts):,} documents, got {len(index) - 1:,}; {_ADVICE}")
        return cls(path, index, columns, texts, vocabulary)

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
        if not 0 <= index < len(self):
            raise IndexError(f"document index must be between 0 and {len(self) - 1}, got {index}")
        ids, starts, target, name = (
            array[start:end]
            for array, start, end in zip(self._columns, self._index[index], self._index[index + 1], strict=True)
        )
        for tokens in (ids, target):
            if len(tokens) and not 0 <= tokens.min() <= tokens.max() < self._vocabulary:
                raise DataError(
                    f"{self._path.parent} must hold ids from 0 to {self._vocabulary - 1:,}, got {tokens.min():,} to "
                    f"{tokens.max():,} in document {index + 1}; {_ADVICE}"
                )
        sentences = np.searchsorted(starts, np.arange(len(ids)), side="right").astype(np.int32) - 1
        try:
            return Item(name.tobytes().decode(), ids, sentences, target)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self._path.parent / 'names.bin'} must be UTF-8, got other bytes for document {index + 1}; {_ADVICE}"
            ) from error

    def text(self, index: int) -> Example:
        """Read the texts of a document and its summary."""
        return self._texts[index]


def _starts(sentences: np.ndarray) -> np.ndarray:
    """Return the index of the first token of each sentence; an empty sentence has that of the next one."""
    count = int(sentences[-1]) + 1 if len(sentences) else 0
    return np.searchsorted(sentences, np.arange(count)).astype(_START)


def _token_dtype(path: Path) -> np.dtype:
    try:
        return _TOKENS[read_json(path, DataError, _ADVICE)["tokens"]]
    except (KeyError, TypeError) as error:
        raise DataError(f"{path} must state the type of the token ids, got {error!r}; {_ADVICE}") from error
