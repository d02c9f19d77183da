"""Masked attention, and padding."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.quantization import has_packed_bf16

Bias = Callable[[slice], Tensor | None]
"""Returns the bias of the attention scores of a range of queries, (batch, heads, queries, length), or None."""

MAX_WEIGHTS = 2**24
"""Attention weights in memory at a time, over batch, heads, queries and keys: 64 MB in float32."""


def pad_id(embedding: nn.Embedding) -> int:
    """Return the id of padding in an embedding, its `padding_idx`."""
    assert embedding.padding_idx is not None, "embeddings of vocabularies have a padding_idx"
    return embedding.padding_idx


def zero_padding(states: Tensor, mask: Tensor) -> Tensor:
    """Set states at padding to zero, whatever their value: a weight of zero would let NaN through.

    Args:
        states: (batch, length, dim).
        mask: (batch, length), True at real tokens.
    """
    return states.masked_fill(~mask[..., None], 0.0)


def dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None = None, *, is_causal: bool = False
) -> Tensor:
    """Scaled dot-product attention of PyTorch; as matrix products where its kernel is slow.

    That kernel computes blocks of scores in float32, which is slower than bf16 on a CPU with instructions for bf16.
    Without them the products take up to twice as long as the kernel, which is then kept.

    Args:
        query: (batch, heads, target, head_dim).
        key: (batch, heads, length, head_dim).
        value: (batch, heads, length, head_dim).
        bias: Added to the scores, or where it is Boolean, True at visible keys; broadcast to
            (batch, heads, target, length).
        is_causal: Whether each query sees only the keys up to its own position.

    Returns:
        (batch, heads, target, head_dim); undefined where a query sees no key.
    """
    if not _prefers_products(query, key):
        return F.scaled_dot_product_attention(query, key, value, attn_mask=bias, is_causal=is_causal)
    scores = (query * query.size(-1) ** -0.5) @ key.mT
    if is_causal:
        bias = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    # The lowest finite value, not -inf: where nothing is visible, gradients would be NaN.
    lowest = torch.finfo(scores.dtype).min
    if bias is not None:
        is_mask = bias.dtype is torch.bool
        scores = scores.masked_fill(~bias, lowest) if is_mask else scores + bias.to(scores.dtype).clamp(min=lowest / 2)
    mixed: Tensor = scores.softmax(-1) @ value
    return mixed


def _prefers_products(query: Tensor, key: Tensor) -> bool:
    """Return whether attention in training is faster as matrix products, and its weights fit into memory."""
    weights = query.size(0) * query.size(1) * query.size(2) * key.size(2)
    if query.device.type != "cpu" or not torch.is_grad_enabled() or weights > MAX_WEIGHTS or not has_packed_bf16():
        return False
    autocast = torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") is torch.bfloat16
    return autocast or query.dtype is torch.bfloat16


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None = None) -> Tensor:
    """Scaled dot-product attention; a document without a real token gets zeros.

    Args:
        query: (batch, heads, target, head_dim).
        key: (batch, heads, length, head_dim).
        value: (batch, heads, length, head_dim), finite everywhere.
        mask: (batch, length), True at visible keys; None where all are, which is faster.
        bias: (batch, heads, target, length), added to the attention scores; None is faster.

    Returns:
        (batch, heads, target, head_dim).
    """
    if bias is not None:
        bias = bias.to(query.dtype)
    if mask is None:
        return dot_product_attention(query, key, value, bias)
    visible = mask.contiguous()[:, None, None, :]  # fused kernels of GPUs take no strided mask
    mixed = dot_product_attention(query, key, value, visible if bias is None else bias.masked_fill(~visible, -math.inf))
    return mixed.masked_fill(~mask.any(1)[:, None, None, None], 0.0)  # the softmax over nothing is NaN


def attend_in_blocks(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """Scaled dot-product attention of each block of queries to keys of its own.

    Fused kernels require four dimensions; otherwise a GPU stores all weights in float32. On a CPU the dimensions stay
    separate, because the fused kernel is two to four times slower there in bf16 training.

    Args:
        query: (batch, heads, blocks, block, head_dim).
        key: (batch, heads, blocks, keys, head_dim).
        value: Like `key`.
        bias: As for `dot_product_attention`; (batch, heads, blocks, 1, keys).

    Returns:
        (batch, heads, blocks, block, head_dim); undefined where a query sees no key.
    """
    if query.device.type == "cpu":
        return F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
    queries, keys, values, biases = (part.flatten(0, 1) for part in (query, key, value, bias))
    mixed = F.scaled_dot_product_attention(queries, keys, values, attn_mask=biases)
    return mixed.view(query.shape)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
    """Weights of scaled dot-product attention, for few queries or keys.

    Args:
        query: (batch, heads, target, head_dim).
        key: (batch, heads, length, head_dim), finite everywhere.
        mask: (batch, length), True at visible keys.

    Returns:
        (batch, heads, target, length), at least float32; 0 at hidden keys.
    """
    return masked_softmax(query / math.sqrt(query.size(-1)) @ key.mT, ~mask[:, None, None])


def masked_softmax(scores: Tensor, hidden: Tensor, dim: int = -1) -> Tensor:
    """Softmax in at least single precision; 0 where `hidden` is True, even if nothing is visible."""
    scores = at_least_float32(scores)
    # The lowest finite value, not -inf: a document of padding only would produce NaN in the softmax.
    return scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(dim).masked_fill(hidden, 0.0)


def precompute_mask(mask: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Precompute the mask of `attend` for keys and values of many calls.

    Args:
        mask: (batch, heads or 1, length), True at visible keys.
        value: (batch, heads, length, head_dim), finite everywhere.

    Returns:
        Bias of the attention scores, (batch, heads or 1, 1, length), and the values with zeros where no key is visible.
    """
    any_visible = mask.any(-1, keepdim=True)
    bias = value.new_zeros(mask.shape).masked_fill_(~mask & any_visible, -math.inf)
    return bias[:, :, None], value.masked_fill(~any_visible[..., None], 0.0)


def attention_received(query: Tensor, key: Tensor, mask: Tensor, include_self: bool, bias: Bias) -> Tensor:
    """Sum the attention weights of every key over all real queries of scaled dot-product attention.

    Queries are processed in chunks of at most `MAX_WEIGHTS` weights, which are recomputed in the backward pass: memory
    is O(length).

    Args:
        query: (batch, heads, length, head_dim), finite everywhere.
        key: (batch, heads, length, head_dim), finite everywhere.
        mask: (batch, length), True at real tokens.
        include_self: Whether the weight of a token on itself counts.
        bias: Bias of the attention scores.

    Returns:
        (batch, length), averaged over the heads; 0 at padding.
    """
    heads, indices = query.size(1), torch.arange(mask.size(1), device=mask.device)

    def sum_range(queries: slice) -> Tensor:  # (batch, length)
        scores = at_least_float32(query[:, :, queries] / math.sqrt(query.size(-1)) @ key.mT)
        query_bias = bias(queries)
        if query_bias is not None:
            scores = scores + query_bias
        weights = scores.masked_fill_(~mask[:, None, None], -math.inf).softmax(-1)
        if not include_self:
            weights = weights.masked_fill(indices[queries, None] == indices, 0.0)
        with torch.autocast(mask.device.type, enabled=False):  # would round the weights
            summed = mask[:, None, None, queries].to(weights.dtype) @ weights
            return summed.sum((1, 2)).masked_fill(~mask, 0.0)

    step = max(1, MAX_WEIGHTS // max(1, heads * mask.numel()))
    total = torch.zeros(mask.shape, device=mask.device)
    for first in range(0, mask.size(1), step):
        queries = slice(first, first + step)
        total = total + checkpoint(sum_range, queries, use_reentrant=False, preserve_rng_state=False)
    return total / heads
