"""Tokenised documents, and pairs of them; without torch, which the processes that write shards need not import.

A pair is stored as one document with the padding token, which no text contains, between its two parts.
"""

from dataclasses import dataclass, replace

import numpy as np


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


def join_pair(first: Item, second: Item, pad: int) -> Item:
    """Join two documents to an item with the id and the target of the first."""
    ids = np.concatenate([first.ids, np.array([pad], first.ids.dtype), second.ids])
    last = first.sentences[-1:] if len(first.sentences) else np.zeros(1, first.sentences.dtype)
    sentences = np.concatenate([first.sentences, last, second.sentences + last + 1])
    return replace(first, ids=ids, sentences=sentences)


def split_pair(item: Item, pad: int) -> tuple[Item, ...]:
    """Split an item of two documents; an item of one document stays as it is."""
    (indices,) = np.nonzero(item.ids == pad)
    if not len(indices):
        return (item,)
    end = int(indices[0])
    ids, sentences = item.ids[end + 1 :], item.sentences[end + 1 :]
    return (
        replace(item, ids=item.ids[:end], sentences=item.sentences[:end]),
        replace(item, ids=ids, sentences=sentences - sentences[:1].sum()),
    )
