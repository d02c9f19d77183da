"""Memory-mapped running text: the token ids of a split in one stream, with the segments of a teacher.

    tokens.bin      token ids, uint16 or int32 as stated in stream.json
    boundaries.bin  uint8 of each token, 1 at the last token of a segment; only with a teacher
    stream.json     number of tokens and their type

Both arrays are little-endian.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from sumpool.data.batches import Batch, pad_rows
from sumpool.data.config import Split
from sumpool.data.shards import Item, open_array
from sumpool.errors import DataError
from sumpool.io.bounded import read_json
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, SpecialTokens
from sumpool.text.tokenizer import id_dtype

if TYPE_CHECKING:
    from sumpool.text.sentencepiece_tokenizer import Phrases

STREAM = "stream.json"
_ADVICE = "run sumpool prepare again"
_TOKENS: dict[str, np.dtype] = {"uint16": np.dtype("<u2"), "int32": np.dtype("<i4")}
_BOUNDARY = np.dtype("u1")

PADDING = -1
"""Segment number of padding."""


def write_stream(folder: Path, split: Split, ids: np.ndarray, boundaries: np.ndarray | None, vocabulary: int) -> None:
    """Write the tokens (length,) of a split, with their boundaries (length,) if they have a teacher.

    Raises:
        OSError: If the disk is full or fails.
    """
    path, name = folder / split, np.dtype(id_dtype(vocabulary)).name
    path.mkdir(parents=True, exist_ok=True)
    ids.astype(_TOKENS[name]).tofile(path / "tokens.bin")
    if boundaries is not None:
        boundaries.astype(_BOUNDARY).tofile(path / "boundaries.bin")
    (path / STREAM).write_text(json.dumps({"tokens": len(ids), "type": name}) + "\n")


class TextStream:
    """Running text of a split.

    Attributes:
        ids: (tokens,) token ids, memory-mapped.
        boundaries: (tokens,), 1 at the last token of a segment of the teacher, memory-mapped; None without one.
    """

    def __init__(self, folder: Path, split: Split, vocabulary: int = 1 << 31) -> None:
        """Open a split of a prepared folder without reading it.

        Args:
            folder: The folder.
            split: The split.
            vocabulary: Size of the vocabulary; ids are compared with it when they are read by `read`.

        Raises:
            DataError: If a file is missing or of another size.
        """
        self._path = path = folder / split
        self._vocabulary = vocabulary
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
        self.ids = open_array(path / "tokens.bin", dtype, tokens)
        taught = (path / "boundaries.bin").is_file()
        self.boundaries = open_array(path / "boundaries.bin", _BOUNDARY, tokens) if taught else None

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
        indices = np.arange(start, start + length) % max(len(self), 1)
        wraps = start + length > len(self)
        at = indices if wraps else slice(start, start + length)
        ids = np.asarray(self.ids[at])
        if len(ids) and not 0 <= ids.min() <= ids.max() < self._vocabulary:
            raise DataError(
                f"{self._path} must hold ids from 0 to {self._vocabulary - 1:,}, got {ids.min():,} to {ids.max():,} "
                f"from token {start:,}; {_ADVICE}"
            )
        return ids, None if self.boundaries is None else np.asarray(self.boundaries[at])


class TextWindows:
    """Windows of a text, which predict the next token at each position.

    As an item, a window has the segments of the teacher in place of sentence numbers, and its next tokens as target.

    Args:
        stream: The text.
        length: Tokens of a window.
        ring: Whether a window begins at every token, and goes on at the beginning of the text; otherwise windows stand
            one after the other, so that every token but the first is predicted once, and the last one may be shorter.
    """

    def __init__(self, stream: TextStream, length: int, *, ring: bool) -> None:
        self._stream = stream
        self._length = length
        self._ring = ring

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each window, (windows,)."""
        if self._ring:
            return np.broadcast_to(np.int64(self._length), (len(self),))
        return np.minimum(self._length, len(self._stream) - 1 - np.arange(len(self)) * self._length)

    def __len__(self) -> int:
        return len(self._stream) if self._ring else -(-max(len(self._stream) - 1, 0) // self._length)

    def __getitem__(self, index: int) -> Item:
        start = index if self._ring else index * self._length
        length = self._length if self._ring else min(self._length, len(self._stream) - 1 - start)
        ids, boundaries = self._stream.read(start, length + 1)
        ids = ids.astype(np.int64)
        # A boundary ends its segment, so that the number grows after it.
        ends = np.zeros(length, np.int32) if boundaries is None else boundaries[:length].astype(np.int32)
        segments = np.cumsum(ends, dtype=np.int32) - ends
        return Item(f"tokens {start:,}-{start + length - 1:,}", ids[:-1], segments, ids[1:])


def window_batches(
    tokens: int, length: int, batch_tokens: int, epoch: int, *, seed: int, rotate: float = 0.0
) -> list[list[int]]:
    """Divide the windows of a text into batches of equal size; indices are first tokens.

    The order is a function of seed and epoch. A rotated epoch begins at a random token of the text, which is read as a
    ring, as in the released code of Nawrot et al. (2023); in others windows begin at multiples of their length. The
    tokens behind the last whole window are left out, and so is the last batch of an epoch if it is not full.

    Args:
        tokens: Tokens of the text.
        length: Tokens of a window.
        batch_tokens: Maximum tokens of a batch; a longer window forms a batch alone.
        epoch: Index of the epoch.
        seed: Seed of the order.
        rotate: Share of rotated epochs, from 0 to 1.
    """
    windows = max(tokens // length, 1)
    size = min(max(batch_tokens // length, 1), windows)
    random = np.random.default_rng((seed, epoch))
    shift = int(random.integers(tokens)) if random.random() < rotate else 0
    starts = (shift + random.permutation(windows) * length) % tokens
    count = windows // size
    batches: list[list[int]] = starts[: count * size].reshape(count, size).tolist()
    return batches


def collate_windows(
    items: Sequence[Item],
    source_length: int,
    target_length: int,
    teacher: "Phrases | None" = None,
    special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS,
) -> Batch:
    """Stack windows of running text; shorter ones are padded.

    Args:
        items: Windows.
        source_length: Not used: windows have their length already.
        target_length: Not used, as above.
        teacher: Not used: windows have the segments of the data.
        special_tokens: Ids, of which that of padding counts.
    """
    del source_length, target_length, teacher
    ids = pad_rows([item.ids for item in items], special_tokens.pad)
    segments = pad_rows([item.sentences for item in items], PADDING)
    return Batch(
        ids=ids,
        mask=segments != PADDING,
        sentences=torch.zeros_like(ids),
        target=pad_rows([item.target for item in items if item.target is not None], special_tokens.pad),
        documents=tuple(item.id for item in items),
        phrases=segments,
        pad=special_tokens.pad,
    )
