"""Attention to some groups of a document's words, the others unread.

What the queries of a document see between them is copied once, keys and values of a word in one piece each, and every
query masks what the others asked for: beams, which see much the same, share the copy. Where they do, copies for each
query took three to nine times as long, a layout by heads four to six times, and weighing rows without a copy (embedding
bags) about twice as long; where queries have nothing in common bags took about two thirds.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.layers import split_heads

_AT_ONCE = 2**22
"""Numbers that a copy of keys holds, 16 MB in float32: glibc takes larger ones from the system and gives them back each
time, which costs more than filling them."""


def attend_to_groups(query: Tensor, words: Tensor, mask: Tensor, group: Tensor, chosen: Tensor) -> Tensor:
    """Scaled dot-product attention of every query to the words of its own groups; zeros where it has none.

    Args:
        query: (batch, heads, queries, head_dim).
        words: (batch, length, 2 * dim), key and value of each word, finite everywhere, contiguous.
        mask: (batch, length), True at real words.
        group: (batch, length), number of the group that a word belongs to.
        chosen: (batch, queries, groups), True at the groups that a query sees.

    Returns:
        (batch, heads, queries, head_dim).
    """
    read = words_read(mask, group, chosen)
    most = int(read.sum(1).max()) if read.numel() else 0
    if not is_worth_copying(most, read.size(1)):
        key, value = (split_heads(part, query.size(1)) for part in words.chunk(2, dim=-1))
        return _attend(query, key, value, _seen(chosen, group) & mask[:, None])
    index, real = pack(read, most)
    seen = _seen(chosen, group.gather(1, index)) & real[:, None]  # (batch, queries, most)
    some = max(1, _AT_ONCE // max(1, most * words.size(2) // 2))
    first = torch.arange(len(index), device=index.device)[:, None] * words.size(1)
    parts = zip(query.split(some), (first + index).split(some), seen.split(some), strict=True)
    return torch.cat([_attend(few, *_copy(words, rows, query.size(1)), visible) for few, rows, visible in parts])


def words_read(mask: Tensor, group: Tensor, chosen: Tensor) -> Tensor:
    """Say which words the queries of a document see between them, (batch, length); arguments as above."""
    return chosen.any(1).gather(1, group) & mask


def is_worth_copying(words: int, length: int) -> bool:
    """Say whether to copy so many words of a document and to read the copy takes less time than to read them all."""
    return 2 * words < length


def pack(kept: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """Find the places of True in each row, first to last.

    Args:
        kept: (batch, length).
        most: Places to return, at least as many as any row has.

    Returns:
        Places (batch, most), any place after the last one; and True at those that are one, (batch, most).
    """
    place = torch.where(kept, kept.cumsum(1) - 1, most)
    numbers = torch.arange(kept.size(1), device=kept.device).expand(kept.shape)
    index = place.new_zeros(len(kept), most + 1).scatter(1, place, numbers)[:, :most]
    return index, torch.arange(most, device=kept.device) < kept.sum(1, keepdim=True)


def _seen(chosen: Tensor, group: Tensor) -> Tensor:
    """Say which words each query sees: (batch, queries, words)."""
    return chosen.gather(2, group[:, None].expand(-1, chosen.size(1), -1))


def _copy(words: Tensor, rows: Tensor, heads: int) -> tuple[Tensor, Tensor]:
    """Copy keys and values of some rows (documents, most) of all words: (documents, heads, most, head_dim) each."""
    halves = words.view(-1, words.size(2) // 2)  # (batch * length * 2, dim), a key and its value in turn
    key, value = (
        halves.index_select(0, (2 * rows + part).flatten()).view(*rows.shape, halves.size(1)) for part in (0, 1)
    )
    return split_heads(key, heads), split_heads(value, heads)


def _attend(query: Tensor, key: Tensor, value: Tensor, seen: Tensor) -> Tensor:
    """Attend to what is seen, (documents, queries, words); a query that sees nothing gets zeros."""
    mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=seen[:, None])
    return mixed.masked_fill(~seen.any(-1)[:, None, :, None], 0.0)  # softmax over nothing is no number
