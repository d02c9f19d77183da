"""Counted operations: the same number on every machine, whatever else it is doing.

A multiplication and an addition are two operations. Counted are the products of matrices, attention included and
whatever kernel computes it; a mask saves nothing. Not counted are softmax, normalisation, sorting, gathering and other
work that grows with single numbers. A fused attention recomputes its scores on the way back, and that counts.
"""

import torch
from torch import Size
from torch.utils.flop_counter import FlopCounterMode

from sumpool.bench.timing import Work


def count(work: Work) -> int:
    """Run the work once and count its operations, those of its backward pass included."""
    with FlopCounterMode(display=False, custom_mapping=_CPU_ATTENTION) as counter:
        work()
    return int(counter.get_total_flops())


def _product(query: Size, key: Size) -> int:
    """Count the product of queries (batch, heads, target, head_dim) with keys (batch, heads, length, head_dim)."""
    return 2 * query.numel() * key[-2]


def _attention(
    query: Size,
    key: Size,
    value: Size,
    *settings: object,
    attn_mask: object = None,
    scale: object = None,
    out_shape: object = None,
) -> int:
    """Count the two products of a forward pass: scores, and the mixing of values."""
    del value, settings, attn_mask, scale, out_shape
    return 2 * _product(query, key)


def _attention_backward(
    gradient: Size,
    query: Size,
    key: Size,
    *saved: object,
    attn_mask: object = None,
    scale: object = None,
    out_shape: object = None,
) -> int:
    """Count the five products of a backward pass: the scores again, and the gradients of four factors."""
    del gradient, saved, attn_mask, scale, out_shape
    return 5 * _product(query, key)


# torch's own table knows the attention kernels of CUDA only; queries, keys and values share one head_dim here.
_CPU_ATTENTION = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
}
