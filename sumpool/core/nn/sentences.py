"""Sentences of the memory, attention weights summed over them, and attention to selected ones.

Log-weights are (batch, heads, target, sentences), as `sentence_log_softmax` returns them: -inf at sentences that do not
exist, which contribute to no result and no gradient.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.layers import split_heads
from sumpool.core.nn.numerics import at_least_float32, indices_of_true
from sumpool.core.tokens import Tokens

MAX_COPIED_NUMBERS = 2**22
"""Numbers in one copy of keys, 16 MB in float32: glibc allocates larger blocks from the system and returns them each
time, which costs more than filling them."""


@dataclass(frozen=True)
class Sentences:
    """Sentences with at least one state, indexed without gaps in document order; each is a range of states.

    Attributes:
        index: (batch, length), sentence of each state; that of the last one at padding.
        first: (batch, sentences), index of the first state of each sentence.
        count: (batch, sentences), number of states of each sentence; 0 where a document has fewer sentences.
        sizes: The same on the host; None where it does not know them.
    """

    index: Tensor
    first: Tensor
    count: Tensor
    sizes: Tensor | None = None

    @classmethod
    def find(cls, memory: Tokens) -> "Sentences":
        """Find the ranges of equal sentence numbers among the real states, which stand first; the host waits once."""
        changes = memory.sentences != F.pad(memory.sentences[:, :-1], (1, 0), value=-1)
        if changes.size(1):
            changes[:, 0] = True
        changes = changes & memory.mask
        index = (changes.cumsum(1) - 1).clamp_min(0)
        count = index.new_zeros(index.size(0), max(1, index.size(1))).scatter_add(1, index, memory.mask.long())
        if torch.compiler.is_exporting():  # the number of sentences is not known: as many as states
            return cls(index, count.cumsum(1) - count, count)
        sizes = count.cpu()
        sentences = max([1, *(sizes > 0).sum(1).tolist()])
        count = count[:, :sentences].contiguous()
        return cls(index, count.cumsum(1) - count, count, sizes[:, :sentences])

    @property
    def mask(self) -> Tensor:
        """(batch, sentences), True at existing sentences."""
        return self.count > 0

    def membership(self, mask: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the one-hot sentence of each real state, (batch, length, sentences).

        Args:
            mask: (batch, length), True at real states.
            dtype: Type of the result.
        """
        one_hot = self.index[..., None] == torch.arange(self.count.size(1), device=mask.device)
        return (one_hot & mask[..., None]).to(dtype)


def sentence_log_softmax(scores: Tensor, exists: Tensor) -> Tensor:
    """Log-softmax over the sentences of each document.

    Args:
        scores: (batch, heads, target, sentences), finite everywhere.
        exists: (batch, sentences), True at existing sentences.

    Returns:
        Log-weights (batch, heads, target, sentences), in at least single precision; -inf at sentences that do not
        exist.
    """
    scores, absent = at_least_float32(scores), ~exists[:, None, None]
    # The least finite number instead of -inf, so that documents without sentences do not become NaN.
    log_weights = scores.masked_fill(absent, torch.finfo(scores.dtype).min).log_softmax(-1)
    return log_weights.masked_fill(absent, -torch.inf)


def sum_over_sentences(scores: Tensor, mask: Tensor, membership: Tensor) -> Tensor:
    """Sum attention weights over the states of each sentence (Manakul and Gales, 2021, Equation 4).

    Args:
        scores: Attention scores (batch, heads, target, length), finite everywhere.
        mask: (batch, length), True at real states.
        membership: (batch, length, sentences), from `Sentences.membership`.

    Returns:
        Log-weights (batch, heads, target, sentences), as `sentence_log_softmax` returns them.
    """
    scores, membership = at_least_float32(scores), at_least_float32(membership)
    weights = scores.masked_fill(~mask[:, None, None], torch.finfo(scores.dtype).min).softmax(-1)
    with torch.autocast(scores.device.type, enabled=False):  # would round the weights
        sums = weights @ membership[:, None]  # (batch, heads, target, sentences)
    absent = ~(membership > 0).any(1)[:, None, None]
    return sums.clamp_min(torch.finfo(sums.dtype).tiny).log().masked_fill(absent, -torch.inf)


def entropy(log_weights: Tensor) -> Tensor:
    """Entropy over the sentences (Manakul and Gales, 2021, Equation 5).

    Returns:
        (batch, heads, target), in nats; 0 for documents without sentences.
    """
    return -(log_weights.exp() * _finite(log_weights)).sum(-1)


def divergence(target: Tensor, log_weights: Tensor) -> Tensor:
    """Kullback-Leibler divergence KL(target || log_weights) over the sentences (Equation 11).

    Returns:
        (batch, heads, target), in nats; 0 for documents without sentences.
    """
    return (target.exp() * (_finite(target) - _finite(log_weights))).sum(-1)


def sharpen(log_weights: Tensor, temperature: float, exists: Tensor) -> Tensor:
    """Divide log-weights by a temperature and normalise them (Equation 15).

    Args:
        log_weights: (batch, heads, target, sentences).
        temperature: Values below 1 sharpen the distribution.
        exists: (batch, sentences), True at existing sentences.
    """
    return sentence_log_softmax(_finite(log_weights) / temperature, exists)


def mean_over_documents(values: Tensor, mask: Tensor | None) -> Tensor:
    """Mean over heads and real tokens of each document, then over the documents.

    Args:
        values: (batch, heads, target).
        mask: (batch, target), True at real tokens; None where all are.

    Returns:
        A scalar; a document without a real token counts 0.
    """
    values = values.mean(1)  # (batch, target)
    if mask is None:
        return values.mean()
    return (values.masked_fill(~mask, 0.0).sum(1) / mask.sum(1).clamp_min(1)).mean()


def _finite(log_weights: Tensor) -> Tensor:
    """Replace -inf by 0, since -inf times a weight of 0 is NaN."""
    return log_weights.masked_fill(log_weights == -torch.inf, 0.0)


def attend_to_groups(
    query: Tensor, words: Tensor, mask: Tensor, group: Tensor, selected: Tensor, most: int | None = None
) -> Tensor:
    """Scaled dot-product attention of every query to the words of its selected groups; zeros where it has none.

    The words that any query of a document attends to are copied once, key and value of a word in one piece each, and
    every query masks the words of the others: beams, whose selections overlap, share the copy. Where they do, a copy
    per query took three to nine times as long, a layout by heads four to six times, and weighted sums of rows without a
    copy (embedding bags) about twice as long; where selections are disjoint, bags took about two thirds. Where a copy
    would have more than half of the words, all words are read.

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
    read = selected.any(1).gather(1, group) & mask  # (batch, length), True where any query attends to a word
    exporting = torch.compiler.is_exporting()  # a graph reads all words, as their number would depend on values
    if most is None:
        most = 0 if exporting or not read.numel() else int(read.sum(1).max())
    size = min(most, read.size(1))
    if exporting or 2 * size >= read.size(1):
        key, value = (split_heads(part, query.size(1)) for part in words.chunk(2, dim=-1))
        return _attend(query, key, value, visible_words(selected, group, mask))
    index, real = indices_of_true(read, size)
    visible = visible_words(selected, group.gather(1, index), real)  # (batch, queries, size)
    documents = len(index)
    if words.device.type == "cpu":
        documents = max(1, MAX_COPIED_NUMBERS // max(1, size * words.size(2) // 2))
    offsets = torch.arange(len(index), device=index.device)[:, None] * words.size(1)
    halves = words.view(-1, words.size(2) // 2)  # (batch * length * 2, dim), key and value of a word alternate
    mixed = []
    parts = zip(query.split(documents), (offsets + index).split(documents), visible.split(documents), strict=True)
    for queries, rows, part_visible in parts:
        key, value = (
            split_heads(
                halves.index_select(0, (2 * rows + half).flatten()).view(*rows.shape, halves.size(1)), query.size(1)
            )
            for half in (0, 1)
        )
        mixed.append(_attend(queries, key, value, part_visible))
    return torch.cat(mixed)


def visible_words(selected: Tensor, group: Tensor, mask: Tensor) -> Tensor:
    """True at the words of selected groups, (batch, queries, words); arguments as above, of some or all words."""
    return selected.gather(2, group[:, None].expand(-1, selected.size(1), -1)) & mask[:, None]


def _attend(query: Tensor, key: Tensor, value: Tensor, visible: Tensor) -> Tensor:
    """Attend to visible words (documents, queries, words); a query without visible words gets zeros."""
    mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=visible[:, None])
    return mixed.masked_fill(~visible.any(-1)[:, None, :, None], 0.0)  # the softmax over nothing is NaN
