"""Attention to selected groups of a document's words; other words are not read.

The words that any query of a document attends to are copied once, key and value of a word in one piece each, and every
query masks the words of the others: beams, whose selections overlap, share the copy. Where they do, a copy per query
took three to nine times as long, a layout by heads four to six times, and weighted sums of rows without a copy
(embedding bags) about twice as long; where selections are disjoint, bags took about two thirds.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.layers import split_heads
from sumpool.core.nn.numerics import indices_of_true

MAX_COPIED_NUMBERS = 2**22
"""Numbers in one copy of keys, 16 MB in float32: glibc allocates larger blocks from the system and returns them each
time, which costs more than filling them."""


def attend_to_groups(
    query: Tensor, words: Tensor, mask: Tensor, group: Tensor, selected: Tensor, most: int | None = None
) -> Tensor:
    """Scaled dot-product attention of every query to the words of its selected groups; zeros where it has none.

    Args:
        query: (batch, heads, queries, head_dim).
        words: (batch, length, 2 * dim), key and value of each word, finite everywhere, contiguous.
        mask: (batch, length), True at real words.
        group: (batch, length), index of the group of each word.
        selected: (batch, queries, groups), True at the groups that a query attends to.
        most: Words that the queries of a document read at most, whatever they select: shapes then do not depend on the
            selection. None counts them, for which the host waits.

    Returns:
        (batch, heads, queries, head_dim).
    """
    read = words_read(mask, group, selected)
    exporting = torch.compiler.is_exporting()  # a graph reads all words, as their number would depend on values
    if most is None:
        most = 0 if exporting or not read.numel() else int(read.sum(1).max())
    size = min(most, read.size(1))
    if exporting or not is_worth_copying(size, read.size(1)):
        key, value = (split_heads(part, query.size(1)) for part in words.chunk(2, dim=-1))
        return _attend(query, key, value, _visible_words(selected, group) & mask[:, None])
    index, real = indices_of_true(read, size)
    visible = _visible_words(selected, group.gather(1, index)) & real[:, None]  # (batch, queries, size)
    documents = len(index)
    if words.device.type == "cpu":
        documents = max(1, MAX_COPIED_NUMBERS // max(1, size * words.size(2) // 2))
    offsets = torch.arange(len(index), device=index.device)[:, None] * words.size(1)
    parts = zip(query.split(documents), (offsets + index).split(documents), visible.split(documents), strict=True)
    return torch.cat(
        [_attend(queries, *_copy(words, rows, query.size(1)), part_visible) for queries, rows, part_visible in parts]
    )


def words_read(mask: Tensor, group: Tensor, selected: Tensor) -> Tensor:
    """True at the words that any query of a document attends to, (batch, length); arguments as above."""
    return selected.any(1).gather(1, group) & mask


def is_worth_copying(words: int, length: int) -> bool:
    """Return whether copying `words` of a document and attending to the copy is faster than attending to all."""
    return 2 * words < length


def _visible_words(selected: Tensor, group: Tensor) -> Tensor:
    """True at the words of selected groups, (batch, queries, words)."""
    return selected.gather(2, group[:, None].expand(-1, selected.size(1), -1))


def _copy(words: Tensor, rows: Tensor, heads: int) -> tuple[Tensor, Tensor]:
    """Copy keys and values of rows (documents, size) of all words: (documents, heads, size, head_dim) each."""
    halves = words.view(-1, words.size(2) // 2)  # (batch * length * 2, dim), key and value of a word alternate
    key, value = (
        halves.index_select(0, (2 * rows + part).flatten()).view(*rows.shape, halves.size(1)) for part in (0, 1)
    )
    return split_heads(key, heads), split_heads(value, heads)


def _attend(query: Tensor, key: Tensor, value: Tensor, visible: Tensor) -> Tensor:
    """Attend to visible words (documents, queries, words); a query without visible words gets zeros."""
    mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=visible[:, None])
    return mixed.masked_fill(~visible.any(-1)[:, None, :, None], 0.0)  # the softmax over nothing is NaN
