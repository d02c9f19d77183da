"""Windows of running text for training and validation, packed without padding."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from sumpool.data.batches import Batch, PhraseModel
from sumpool.data.shards import Item
from sumpool.data.text_stream import TextStream
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, SpecialTokens

PADDING = -1
"""Segment number of padding."""


class TextWindows:
    """Windows that begin at any token of a text, and predict the next token at each position.

    The index of a window is its first token. As an item, a window has the segments of the teacher in place of sentence
    numbers, and its next tokens as target.

    Args:
        stream: The text.
        length: Tokens of a window.
        ring: Whether windows go on at the beginning of the text; otherwise they end with it.
    """

    def __init__(self, stream: TextStream, length: int, *, ring: bool) -> None:
        self._stream = stream
        self._length = length
        self._ring = ring

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of the window at each index, (windows,)."""
        if self._ring:
            return np.broadcast_to(np.int64(self._length), (len(self),))
        return np.minimum(self._length, len(self) - np.arange(len(self)))

    def __len__(self) -> int:
        return len(self._stream) if self._ring else max(len(self._stream) - 1, 0)

    def __getitem__(self, index: int) -> Item:
        if not 0 <= index < len(self):
            raise IndexError(f"window index must be between 0 and {len(self) - 1}, got {index}")
        length = self._length if self._ring else min(self._length, len(self) - index)
        ids, boundaries = self._stream.read(index, length + 1)
        ids = ids.astype(np.int64)
        # A boundary ends its segment, so that the number grows after it.
        ends = np.zeros(length, np.int32) if boundaries is None else boundaries[:length].astype(np.int32)
        segments = np.cumsum(ends, dtype=np.int32) - ends
        return Item(f"tokens {index:,}-{index + length - 1:,}", ids[:-1], segments, ids[1:])


class ConsecutiveWindows:
    """Windows of a text one after the other, in which every token but the first is predicted once."""

    def __init__(self, stream: TextStream, length: int) -> None:
        self._windows = TextWindows(stream, length, ring=False)
        self._length = length

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each window, (windows,); the last one may be shorter."""
        starts = np.arange(len(self)) * self._length
        return np.minimum(self._length, len(self._windows) - starts)

    def __len__(self) -> int:
        return -(-len(self._windows) // self._length)

    def __getitem__(self, index: int) -> Item:
        if not 0 <= index < len(self):
            raise IndexError(f"window index must be between 0 and {len(self) - 1}, got {index}")
        return self._windows[index * self._length]


class WindowSampler:
    """Assignment of windows to batches of equal size, for every epoch; indices are first tokens.

    The order is a function of seed and epoch. A rotated epoch begins at a random token of the text, which is read as a
    ring, as in the released code of Nawrot et al. (2023); in others windows begin at multiples of their length. The
    tokens behind the last whole window are left out, and so is the last batch of an epoch if it is not full.

    Args:
        tokens: Tokens of the text.
        length: Tokens of a window.
        batch_tokens: Maximum tokens of a batch; a longer window forms a batch alone.
        seed: Seed of the order.
        rotate: Share of rotated epochs, from 0 to 1.
    """

    def __init__(self, tokens: int, length: int, batch_tokens: int, seed: int, *, rotate: float = 0.0) -> None:
        self._tokens = tokens
        self._length = length
        self._seed = seed
        self._rotate = rotate
        self._windows = max(tokens // length, 1)
        self._size = min(max(batch_tokens // length, 1), self._windows)

    def batches(self, epoch: int) -> list[list[int]]:
        """Return the first tokens of the windows of an epoch, batch by batch."""
        random = np.random.default_rng((self._seed, epoch))
        shift = int(random.integers(self._tokens)) if random.random() < self._rotate else 0
        starts = (shift + random.permutation(self._windows) * self._length) % self._tokens
        count = self._windows // self._size
        batches: list[list[int]] = starts[: count * self._size].reshape(count, self._size).tolist()
        return batches

    def start_at(self, epoch: int, index: int) -> Iterator[tuple[int, int, list[int]]]:
        """Iterate over the batches of all epochs, starting at batch `index` of `epoch`.

        An index at the end of an epoch means the beginning of the next one.

        Yields:
            Epoch, index within the epoch, and first tokens of the windows.
        """
        while True:
            batches = self.batches(epoch)
            for batch in range(index, len(batches)):
                yield epoch, batch, batches[batch]
            epoch, index = epoch + 1, 0

    def longest(self) -> list[int]:
        """Return the first batch; all have the same size."""
        return self.batches(0)[0]


def collate_windows(
    items: Sequence[Item],
    source_length: int,
    target_length: int,
    teacher: PhraseModel | None = None,
    special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS,
) -> Batch:
    """Stack windows of running text; shorter ones are padded.

    Args:
        items: Windows.
        source_length: Not used: windows have their length already.
        target_length: Not used, as above.
        teacher: Not used: windows have the segments of the data.
        special_tokens: Ids, of which that of padding counts.

    Raises:
        ValueError: If `items` is empty.
    """
    del source_length, target_length, teacher
    if not items:
        raise ValueError("items must not be empty, got none")
    longest = max(len(item.ids) for item in items)
    ids, target = (torch.full((len(items), longest), special_tokens.pad) for _ in range(2))
    segments = torch.full((len(items), longest), PADDING)
    for row, item in enumerate(items):
        assert item.target is not None, "a window has next tokens"
        length = len(item.ids)
        ids[row, :length] = torch.from_numpy(item.ids)
        target[row, :length] = torch.from_numpy(item.target)
        segments[row, :length] = torch.from_numpy(item.sentences)
    return Batch(
        ids=ids,
        mask=segments != PADDING,
        sentences=torch.zeros_like(ids),
        target=target,
        documents=tuple(item.id for item in items),
        phrases=segments,
        pad=special_tokens.pad,
    )
