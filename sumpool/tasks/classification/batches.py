"""Batches of labelled documents, and of pairs of documents with a label."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from sumpool.data.batches import NO_PADDING, Batch, ItemSource, collate
from sumpool.data.shards import Item, Shard
from sumpool.special_tokens import SpecialTokens
from sumpool.tasks.classification.labels import split_pair
from sumpool.text.sentencepiece_tokenizer import Phrases


def collate_labelled(
    items: Sequence[Item],
    source_length: int,
    target_length: int,
    teacher: Phrases | None,
    special_tokens: SpecialTokens,
) -> Batch:
    """Truncate documents and pad them to the longest one; the targets are classes.

    Args:
        items: Documents or pairs, all or none of them with a class as their target.
        source_length: Maximum tokens of a document.
        target_length: Not used.
        teacher: Phrase model that supervises boundaries.
        special_tokens: Ids of the padding and EOS tokens.
    """
    del target_length
    parts = [part for item in items for part in split_pair(item, special_tokens.pad)]
    towers = len(parts) // len(items)
    batch = collate([replace(part, target=None) for part in parts], source_length, 1, teacher, special_tokens)
    classes = [int(item.target[0]) for item in items if item.target is not None]

    def by_row(part: Tensor) -> Tensor:
        return part if towers == 1 else part.unflatten(0, (-1, towers))  # (batch, towers, length)

    return Batch(
        ids=by_row(batch.ids),
        mask=by_row(batch.mask),
        sentences=by_row(batch.sentences),
        target=torch.tensor(classes)[:, None] if classes else None,
        documents=tuple(item.id for item in items),
        phrases=None if batch.phrases is None else by_row(batch.phrases),
        pad=NO_PADDING,
        lengths=batch.lengths,
    )


class Pairs:
    """Sequence of the pairs of a split; the length of a pair is twice that of its longer document, as in a batch."""

    def __init__(self, shard: ItemSource, pad: int) -> None:
        assert isinstance(shard, Shard), "pairs are stored in a shard"
        self._shard = shard
        first = shard.first_place(pad)
        self.lengths = 2 * np.maximum(first, shard.lengths - first - 1)

    def __len__(self) -> int:
        return len(self._shard)

    def __getitem__(self, index: int) -> Item:
        return self._shard[index]
