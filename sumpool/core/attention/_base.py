"""Self-attention interface, and what variants share: windows of keys, blocks of keys, kernels."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Annotated, ClassVar, final

import torch
from pydantic import AfterValidator, Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.masking import attend, attend_in_blocks, attention_received
from sumpool.core.nn.numerics import at_least_float32, matmul_exactly, to_device
from sumpool.core.nn.positions import build_positions
from sumpool.core.tokens import Tokens
from sumpool.settings import VariantSettings


class AttentionConfig(VariantSettings):
    """Settings of one self-attention."""

    @property
    def max_length(self) -> int | None:
        """Maximum number of vectors of a document; None without a limit."""
        return None

    def build(self, dim: int, heads: int) -> "Attention":
        """Build the attention for `dim` features and `heads` heads.

        Raises:
            ValueError: If the settings do not suit the sizes.
        """
        attention: Attention = self.variant_class(self, dim, heads)
        return attention


class Attention(nn.Module):
    """Self-attention over the states of each document; by default every token attends to every token.

    Attributes:
        config: Settings of the variant.
        project: Joint projection to `projections` times dim features, by default queries, keys and values.
        out: Output projection of the merged heads.
        positions: Position encoding of queries and keys.
        heads: Number of heads.
    """

    block: int | None = None
    """Block size for chunked encoding: no token attends beyond its block of this many tokens, so a document may be
    split at any multiple. None if a document must be encoded in one piece."""

    projections: ClassVar[int] = 3

    def __init__(self, config: AttentionConfig, dim: int, heads: int) -> None:
        super().__init__()
        self.config = config
        self.heads = heads
        self.project = nn.Linear(dim, self.projections * dim)
        self.out = nn.Linear(dim, dim)
        self.positions = build_positions(getattr(config, "positions", "none"), heads, dim // heads)

    def forward(self, tokens: Tokens) -> Tensor:
        """Attend: (batch, length, dim), undefined at padding, from states that are finite everywhere.

        Layouts follow `Tokens.lengths` where the host knows them, and `Tokens.full` saves masks.
        """
        out: Tensor = self.out(self._mix(tokens))
        return out

    def _mix(self, tokens: Tokens) -> Tensor:
        """Weighted sums of the values, heads merged, (batch, length, dim)."""
        mask = None if tokens.full else tokens.mask
        return merge_heads(attend(*self._project(tokens), mask, self.positions.bias(tokens.positions)))

    def _project(self, tokens: Tokens) -> tuple[Tensor, Tensor, Tensor]:
        """Position-encoded queries and keys, and values, (batch, heads, length, head_dim) each."""
        query, key, value = (split_heads(part, self.heads) for part in self.project(tokens.states).chunk(3, dim=-1))
        return self.positions.rotate(query, tokens.positions), self.positions.rotate(key, tokens.positions), value


class SoftmaxAttention(Attention):
    """Attention with the weights of `Attention`, which scorers and distillation read."""

    def attention_received(self, tokens: Tokens, include_self: bool) -> Tensor:
        """Attention weight that each token receives from all tokens of its document, averaged over the heads.

        Args:
            tokens: As for `forward`.
            include_self: Whether the weight of a token on itself counts.

        Returns:
            (batch, length), 0 at padding; the mean over real tokens is 1 with `include_self`.
        """
        query, key, _ = self._project(tokens)
        return attention_received(query, key, tokens.mask, include_self, partial(self.positions.bias, tokens.positions))


def known_lengths(tokens: Tokens) -> Sequence[int]:
    """Return the number of real tokens of each document; where it is unknown, the host waits for the mask."""
    known: Sequence[int] = tokens.mask.sum(1).tolist() if tokens.lengths is None else tokens.lengths
    return known


def _check_even(window: int) -> int:
    if window % 2:
        raise ValueError(f"must be even, got {window}; half of it lies on either side")
    return window


Window = Annotated[int, Field(ge=2, le=10_000_000), AfterValidator(_check_even)]
"""Positions visible to a token beside its own, half of them on either side."""


@final
class Windows:
    """Chunks of queries, and for each the window of its visible keys: the chunk and its neighbours within reach.

    The axis `windows` runs over the chunks of all documents. Chunks of padding only are skipped, so that the cost
    follows the real tokens of a batch. In batches no longer than a chunk with its neighbours, a document is one window.
    """

    def __init__(self, tokens: Tokens, reach: int, first: int = 0) -> None:
        """Cut documents into chunks.

        Args:
            tokens: The documents.
            reach: Tokens visible on either side of a token.
            first: Number of first tokens that are visible to all; they are prepended to each window, and masked at
                their positions.
        """
        length = tokens.mask.size(1)
        self.mask = tokens.mask
        self.reach = reach
        self.first = min(first, length)
        exporting = torch.compiler.is_exporting()  # a graph has one layout for all lengths, and keeps empty chunks
        self.chunk, self.margin = (reach, reach) if exporting or length > 3 * reach else (length, 0)
        self.rest = -length % self.chunk
        self.non_empty: Tensor | None = None  # indices of the chunks with a real token; None where all have one
        if not exporting:
            chunks = (length + self.rest) // self.chunk
            counts = [-(-real // self.chunk) for real in known_lengths(tokens)]
            filled = [document * chunks + chunk for document, count in enumerate(counts) for chunk in range(count)]
            if len(filled) < chunks * len(counts):
                self.non_empty = to_device(filled, self.mask, torch.long)

    @property
    def query_slice(self) -> slice:
        """Range of the chunk's tokens in their window."""
        start = self.margin + self.first
        return slice(start, start + self.chunk)

    @property
    def visible(self) -> Tensor:
        """(windows, chunk, keys), True at visible keys; every token sees itself, so that no row is empty."""
        keys = torch.arange(-self.first, 2 * self.margin + self.chunk, device=self.mask.device)  # first tokens: below 0
        distance = keys[self.query_slice, None] - keys
        near = (distance.abs() <= self.reach) | (keys < 0)
        real = self.windows(self.mask)
        if self.first:
            is_first = torch.arange(self.mask.size(1), device=self.mask.device) < self.first
            others = self.windows(self.mask & ~is_first)
            real = torch.cat([real[:, : self.first], others[:, self.first :]], dim=1)
        return near & real[:, None] | (distance == 0)

    def chunks(self, values: Tensor) -> Tensor:
        """Cut (batch, length, ...): (windows, chunk, ...)."""
        chunks: Tensor = _pad(values, 0, self.rest).unflatten(1, (-1, self.chunk))  # (batch, chunks, chunk, ...)
        return self._drop_empty(chunks.flatten(0, 1))

    def windows(self, values: Tensor) -> Tensor:
        """Gather the window of each chunk from (batch, length, ...): (windows, keys, ...)."""
        padded = _pad(values, self.margin, self.margin + self.rest)
        gathered = padded.unfold(1, self.chunk + 2 * self.margin, self.chunk)
        gathered = gathered.movedim(-1, 2)  # (batch, chunks, keys, ...)
        if self.first:
            first = values[:, None, : self.first].expand(-1, gathered.size(1), *values[:, : self.first].shape[1:])
            gathered = torch.cat([first, gathered], dim=2)
        return self._drop_empty(gathered.flatten(0, 1))

    def join(self, values: Tensor) -> Tensor:
        """Join chunks (windows, chunk, ...) to documents (batch, length, ...), 0 in skipped chunks."""
        if self.non_empty is not None:
            chunks = self.mask.size(0) * (self.mask.size(1) + self.rest) // self.chunk
            values = values.new_zeros(chunks, *values.shape[1:]).index_copy(0, self.non_empty, values)
        by_document = values.unflatten(0, (self.mask.size(0), -1))  # (batch, chunks, chunk, ...)
        joined: Tensor = by_document.flatten(1, 2)[:, : self.mask.size(1)]
        return joined.contiguous()

    def _drop_empty(self, values: Tensor) -> Tensor:
        """Drop chunks of padding."""
        return values if self.non_empty is None else values.index_select(0, self.non_empty)


def _pad(values: Tensor, left: int, right: int) -> Tensor:
    """Pad the length of (batch, length, ...) with zeros."""
    return F.pad(values, (0, 0) * (values.dim() - 2) + (left, right))


class BandAttention(Attention):
    """Self-attention to the tokens at most `reach` positions away, and to `first` tokens that all others attend to.

    The document is split into chunks of `reach` tokens; each chunk attends to itself, its neighbours and the first
    tokens under a mask: O(length * (reach + first) * dim) time, O(length * (reach + first)) memory.
    """

    def __init__(self, config: AttentionConfig, dim: int, heads: int, reach: int, first: int = 0) -> None:
        super().__init__(config, dim, heads)
        self.reach = reach
        self.first_tokens = first

    def _mix(self, tokens: Tokens) -> Tensor:
        return self._attend_in_windows(*self._project(tokens), tokens)

    def _attend_in_windows(self, query: Tensor, key: Tensor, value: Tensor, tokens: Tokens) -> Tensor:
        """Attend window by window.

        Args:
            query: (batch, heads, length, head_dim).
            key: The same.
            value: The same.
            tokens: Mask, positions and lengths of the keys.

        Returns:
            Merged heads, (batch, length, dim); those of the first tokens are to be replaced.
        """
        windows, heads = Windows(tokens, self.reach, self.first_tokens), query.size(1)
        query = split_heads(windows.chunks(merge_heads(query)), heads)  # (windows, heads, chunk, head_dim)
        key, value = (split_heads(windows.windows(merge_heads(part)), heads) for part in (key, value))
        visible = windows.visible[:, None]  # (windows, 1, chunk, keys)
        bias = self.positions.bias(windows.windows(tokens.positions), windows.query_slice)
        if bias is not None:
            visible = bias.to(query.dtype).masked_fill(~visible, -math.inf)
        return windows.join(merge_heads(F.scaled_dot_product_attention(query, key, value, attn_mask=visible)))


class BlockSparseAttention(Attention):
    """Self-attention in which every block of queries attends to `visible` blocks of keys, one softmax over all of them.

    Blocks count from the first token of each document, and its last block may be shorter: neither padding nor batch
    mates change a result. O(length * visible * block * dim) time, O(length * visible * block * heads) memory.
    """

    def __init__(self, config: AttentionConfig, dim: int, heads: int, block_size: int, global_blocks: int = 0) -> None:
        """Build the attention.

        Args:
            config: Settings of the variant.
            dim: Features of a state.
            heads: Attention heads.
            block_size: Tokens of a block.
            global_blocks: First blocks, whose queries attend to the whole document.
        """
        super().__init__(config, dim, heads)
        self.block_size = block_size
        self.global_blocks = global_blocks

    @abstractmethod
    def _visible_blocks(self, counts: Tensor, blocks: int) -> Tensor:
        """Return the blocks of keys that each block of queries attends to.

        Args:
            counts: (batch, 1, 1, 1), blocks of each document, at least 1.
            blocks: Blocks of the longest document.

        Returns:
            (batch, heads or 1, blocks, visible), indices less than the document's count, none of them twice for a block
            of queries; -1 for no block.
        """

    def _mix(self, tokens: Tokens) -> Tensor:
        rest = -tokens.states.size(1) % self.block_size
        query, key, value = (F.pad(part, (0, 0, 0, rest)) for part in self._project(tokens))
        mask = F.pad(tokens.mask, (0, rest))
        counts = ((mask.sum(1) + self.block_size - 1) // self.block_size).clamp(min=1)
        total = mask.size(1) // self.block_size
        blocks = self._visible_blocks(counts[:, None, None, None], total)
        blocks = blocks.expand(len(mask), self.heads, total, -1)  # (batch, heads, blocks, visible)
        real = _take_blocks(mask[:, None, :, None].expand(-1, self.heads, -1, 1), blocks, self.block_size).squeeze(4)
        visible = real & (blocks >= 0).repeat_interleave(self.block_size, dim=3)
        visible = visible | ~visible.any(3, keepdim=True)  # blocks of padding see anything: no row may be empty
        query_blocks = query.unflatten(2, (-1, self.block_size))
        key_blocks, value_blocks = (_take_blocks(part, blocks, self.block_size) for part in (key, value))
        mixed = attend_in_blocks(query_blocks, key_blocks, value_blocks, visible[..., None, :]).flatten(2, 3)
        if self.global_blocks:
            first = self.global_blocks * self.block_size
            mixed = torch.cat([attend(query[:, :, :first], key, value, mask), mixed[:, :, first:]], dim=2)
        return merge_heads(mixed[:, :, : tokens.states.size(1)])


def _take_blocks(values: Tensor, blocks: Tensor, block: int) -> Tensor:
    """Gather blocks (batch, heads, blocks, visible) of (batch, heads, length, features), any block at index -1.

    Returns:
        (batch, heads, blocks, visible * block, features).
    """
    batch, heads, total, visible = blocks.shape
    rows = values.unflatten(2, (-1, block)).flatten(3)  # (batch, heads, blocks, block * features)
    index = blocks.clamp(min=0).flatten(2)[..., None].expand(-1, -1, -1, rows.size(3))
    taken: Tensor = rows.gather(2, index).view(batch, heads, total, visible * block, values.size(3))
    return taken


class KernelAttention(Attention):
    """Attention whose weights are products of non-negative features, divided by their sum over the keys.

    Keys and values are multiplied first: O(length * dim * features), and no weight is ever materialised.
    """

    def _mix(self, tokens: Tokens) -> Tensor:
        query, key, value = self._project(tokens)
        query, key = self._feature_map(at_least_float32(query), at_least_float32(key), tokens.mask)
        key = key.masked_fill(~tokens.mask[:, None, :, None], 0.0)
        mixed = matmul_exactly(query, matmul_exactly(key.mT, value))
        sums = matmul_exactly(query, key.sum(2)[..., None])  # (batch, heads, length, 1), 0 without visible keys
        return merge_heads((mixed / sums.masked_fill(sums == 0, 1.0)).to(value.dtype))

    @abstractmethod
    def _feature_map(self, query: Tensor, key: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Map queries and keys (batch, heads, length, head_dim) to non-negative features; any value at padding."""


def scale(states: Tensor) -> Tensor:
    """Divide queries or keys (batch, heads, length, head_dim) by head_dim^(1/4), at least in float32."""
    scaled: Tensor = at_least_float32(states) * states.size(-1) ** -0.25
    return scaled


def log_kernel(left: Tensor, right: Tensor) -> Tensor:
    """Logarithm of the Gaussian kernel exp(-|q - k|^2 / (2 sqrt(head_dim))), at most 0 up to rounding.

    Args:
        left: (batch, heads, rows, head_dim), scaled.
        right: (batch, heads, columns, head_dim), scaled.

    Returns:
        (batch, heads, rows, columns).
    """
    return matmul_exactly(left, right.mT) + (minus_half_square(left) + minus_half_square(right).mT)


def minus_half_square(states: Tensor) -> Tensor:
    """Return -|x|^2 / 2 of vectors (..., dim), (..., 1)."""
    return states.square().sum(-1, keepdim=True) / -2
