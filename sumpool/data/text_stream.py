"""Memory-mapped running text: the token ids of a split in one stream, with the segments of a teacher.

    tokens.bin      token ids, uint16 or int32 as stated in stream.json
    boundaries.bin  uint8 of each token, 1 at the last token of a segment; only with a teacher
    stream.json     number of tokens and their type

Both arrays are little-endian.
"""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import numpy as np

from sumpool.data.sources._base import Split
from sumpool.data.texts import open_array
from sumpool.errors import DataError
from sumpool.io.bounded import read_json
from sumpool.text.tokenizer import id_dtype

STREAM = "stream.json"
_ADVICE = "run sumpool prepare again"
_TOKENS: dict[str, np.dtype] = {"uint16": np.dtype("<u2"), "int32": np.dtype("<i4")}
_BOUNDARY = np.dtype("u1")


class TextStreamWriter(ExitStack):
    """Context manager that writes a stream part by part.

    Attributes:
        tokens: Tokens written so far.
    """

    def __init__(self, folder: Path, split: Split, vocabulary: int, *, boundaries: bool) -> None:
        super().__init__()
        self._folder = folder / split
        self._folder.mkdir(parents=True, exist_ok=True)
        self._dtype = np.dtype(id_dtype(vocabulary)).name
        self.tokens = 0
        self._ids = self.enter_context((self._folder / "tokens.bin").open("wb"))
        self._boundaries = self.enter_context((self._folder / "boundaries.bin").open("wb")) if boundaries else None
        self.callback(self._describe)

    def add(self, ids: np.ndarray, boundaries: np.ndarray | None = None) -> None:
        """Append tokens (length,), with their boundaries (length,) if the stream has a teacher.

        Raises:
            OSError: If the disk is full or fails.
        """
        self.tokens += len(ids)
        self._ids.write(ids.astype(_TOKENS[self._dtype]).tobytes())
        if self._boundaries:
            assert boundaries is not None, "a stream with a teacher has boundaries"
            assert len(boundaries) == len(ids), "every token has a boundary or none"
            self._boundaries.write(boundaries.astype(_BOUNDARY).tobytes())

    def _describe(self) -> None:
        facts = {"tokens": self.tokens, "type": self._dtype}
        (self._folder / STREAM).write_text(json.dumps(facts) + "\n")


class TextStream:
    """Running text of a split.

    Attributes:
        ids: (tokens,) token ids, memory-mapped.
        boundaries: (tokens,), 1 at the last token of a segment of the teacher, memory-mapped; None without one.
    """

    def __init__(self, ids: np.ndarray, boundaries: np.ndarray | None, vocabulary: int, path: Path) -> None:
        self.ids = ids
        self.boundaries = boundaries
        self._vocabulary = vocabulary
        self._path = path

    @classmethod
    def open(cls, folder: Path, split: Split, vocabulary: int = 1 << 31) -> Self:
        """Open a split of a prepared folder without reading it.

        Args:
            folder: The folder.
            split: The split.
            vocabulary: Size of the vocabulary; ids are compared with it when they are read by `read`.

        Raises:
            DataError: If a file is missing or of another size.
        """
        path = folder / split
        if not (path / STREAM).is_file():
            raise DataError(f"{folder} must hold running text, got no {split}/{STREAM}; run sumpool prepare")
        facts = read_json(path / STREAM, DataError, _ADVICE)
        try:
            tokens, dtype = facts["tokens"], _TOKENS[facts["type"]]
        except (KeyError, TypeError) as error:
            raise DataError(
                f"{path / STREAM} must state the number and the type of the tokens, got {error!r}; {_ADVICE}"
            ) from error
        if not isinstance(tokens, int) or tokens < 0:
            raise DataError(f"{path / STREAM} must state a number of tokens, got {tokens!r}; {_ADVICE}")
        ids = open_array(path / "tokens.bin", dtype, tokens)
        taught = (path / "boundaries.bin").is_file()
        return cls(ids, open_array(path / "boundaries.bin", _BOUNDARY, tokens) if taught else None, vocabulary, path)

    def __len__(self) -> int:
        return len(self.ids)

    def read(self, start: int, length: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Read tokens, and the boundaries of the teacher if there is one; the text is read as a ring.

        Args:
            start: First token.
            length: Number of tokens; the beginning of the text follows its end.

        Raises:
            DataError: If an id is not in the vocabulary.
        """
        places = np.arange(start, start + length) % max(len(self), 1)
        wraps = start + length > len(self)
        at = places if wraps else slice(start, start + length)
        ids = np.asarray(self.ids[at])
        if len(ids) and not 0 <= ids.min() <= ids.max() < self._vocabulary:
            raise DataError(
                f"{self._path} must hold ids from 0 to {self._vocabulary - 1:,}, got {ids.min():,} to {ids.max():,} "
                f"from token {start:,}; {_ADVICE}"
            )
        return ids, None if self.boundaries is None else np.asarray(self.boundaries[at])
