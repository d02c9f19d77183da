"""Token shards: the documents of a split as ids, one after another, mapped into memory.

    tokens.bin     ids of the documents, uint16 or int32 (shard.json says which)
    sentences.bin  int32, for each sentence the token of its document that it begins with
    target.bin     ids of the summaries, without an end, same type as tokens.bin
    names.bin      names of the documents, UTF-8
    index.bin      int64 (documents + 1, 4), where each document ends in the four files above

Everything is little-endian and untruncated: how much of a document a model reads is decided when a batch is made.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from sumpool.data.files import open_array, sync_and_close
from sumpool.data.sources._base import Example, Split
from sumpool.data.texts import Texts
from sumpool.errors import DataError

_OFFSET = np.dtype("<i8")
_START = np.dtype("<i4")
_TOKENS: dict[str, np.dtype] = {"uint16": np.dtype("<u2"), "int32": np.dtype("<i4")}
_COLUMNS = ("tokens", "sentences", "target", "names")


@dataclass(frozen=True, eq=False)
class Item:
    """A document as numbers, whole.

    Attributes:
        id: Name of the document.
        ids: (length,), its tokens.
        sentences: (length,), number of the sentence that each token belongs to.
        target: (target,), tokens of its summary without an end; None if there is no summary.
    """

    id: str
    ids: np.ndarray
    sentences: np.ndarray
    target: np.ndarray | None


class ShardWriter:
    """Writes documents one by one; `with` closes the files once they are safe on the disk."""

    def __init__(self, folder: Path, split: Split, vocabulary: int) -> None:
        (folder / split).mkdir(parents=True, exist_ok=True)
        name = "uint16" if vocabulary <= 1 << 16 else "int32"
        self._type = _TOKENS[name]
        self._ends = np.zeros(len(_COLUMNS), _OFFSET)
        (folder / split / "shard.json").write_text(json.dumps({"tokens": name}) + "\n")
        self._files = [(folder / split / f"{column}.bin").open("wb") for column in (*_COLUMNS, "index")]
        self._files[-1].write(self._ends.tobytes())

    def add(self, item: Item) -> None:
        """Append a document with its summary.

        Raises:
            OSError: If the disk is full.
        """
        assert item.target is not None, "a prepared document has a summary"
        columns = (
            item.ids.astype(self._type),
            _starts(item.sentences),
            item.target.astype(self._type),
            np.frombuffer(item.id.encode(), np.uint8),
        )
        for file, column in zip(self._files, columns, strict=False):
            file.write(column.tobytes())
        self._ends += [len(column) for column in columns]
        self._files[-1].write(self._ends.tobytes())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sync_and_close(self._files)


class Shard:
    """The documents of a prepared split; `shard[number]` is an `Item` whose arrays lie on the disk."""

    def __init__(self, index: np.ndarray, columns: tuple[np.ndarray, ...], texts: Texts) -> None:
        self._index = index
        self._columns = columns
        self._texts = texts

    @classmethod
    def open(cls, folder: Path, split: Split) -> Self:
        """Open a split of a prepared folder; nothing is read yet.

        Raises:
            DataError: If a file is missing or damaged.
        """
        index = open_array(folder / split / "index.bin", _OFFSET).reshape(-1, len(_COLUMNS))
        token = _token_type(folder / split / "shard.json")
        types = (token, _START, token, np.dtype(np.uint8))
        columns = tuple(
            open_array(folder / split / f"{column}.bin", kind, int(length))
            for column, kind, length in zip(_COLUMNS, types, index[-1], strict=True)
        )
        return cls(index, columns, Texts.open(folder, split))

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each document: (documents,)."""
        return np.diff(self._index[:, 0])

    @property
    def target_lengths(self) -> np.ndarray:
        """Tokens of each summary, its end not counted: (documents,)."""
        return np.diff(self._index[:, 2])

    def __len__(self) -> int:
        return len(self._index) - 1

    def __getitem__(self, number: int) -> Item:
        if not 0 <= number < len(self):
            raise IndexError(f"a document's number must lie within 0 and {len(self) - 1}, got {number}")
        ids, starts, target, name = (
            column[self._index[number, axis] : self._index[number + 1, axis]]
            for axis, column in enumerate(self._columns)
        )
        sentences = np.searchsorted(starts, np.arange(len(ids)), side="right").astype(np.int32) - 1
        return Item(name.tobytes().decode(), ids, sentences, target)

    def text(self, number: int) -> Example:
        """Read the words of a document and of its summary."""
        return self._texts[number]


def _starts(sentences: np.ndarray) -> np.ndarray:
    """The token that each sentence begins with; one without tokens begins where the next one does."""
    count = int(sentences[-1]) + 1 if len(sentences) else 0
    return np.searchsorted(sentences, np.arange(count)).astype(_START)


def _token_type(path: Path) -> np.dtype:
    try:
        return _TOKENS[json.loads(path.read_text())["tokens"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} must say the type of the tokens, got {error!r}; run sumpool prepare again") from error
