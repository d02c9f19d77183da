"""Compiled kernels of inference, in `kernels.cpp`, on a CPU with AVX-512 VNNI; elsewhere those of torch serve."""

import ctypes
from functools import cache
from pathlib import Path

import torch
from torch import Tensor
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

FEATURES = 32
"""Features of a head must be a multiple of this number."""
MAX_QUERIES = 16
"""Queries of a head up to which the kernel of torch takes longer, as it is made for blocks of them."""
POINTER_FEATURES = 8
"""Features of a pointer's keys must be a multiple of this number."""
_STRIDES = ctypes.c_int64 * 16
"""Of queries, keys, values and bias, four axes each."""


@cache
def load_kernels() -> ctypes.CDLL | None:
    """Load the compiled kernels; None where there are none or the CPU has no AVX-512 VNNI."""
    try:
        library = ctypes.CDLL(str(Path(__file__).with_name("libkernels.so.1")))
    except OSError:
        return None
    if not torch.cpu._is_vnni_supported():
        return None
    pointer, size = ctypes.c_void_p, ctypes.c_int64
    library.int8_linear.argtypes = (pointer, size, size, pointer, size, pointer, pointer)
    library.attend.argtypes = (*(pointer,) * 6, *(size,) * 5, pointer)
    library.pointer_log_probs.argtypes = (*(pointer,) * 9, *(size,) * 5)
    library.int8_linear.restype = library.attend.restype = library.pointer_log_probs.restype = None
    return library


def few_query_attention(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None) -> Tensor | None:
    """Scaled dot-product attention of few queries without gradients, as in a decoding step.

    The kernel of torch is made for blocks of queries. Here a result depends neither on the other queries and documents
    nor on keys whose bias is -inf, not even in the last bit.

    Args:
        query: (batch, heads, target, head_dim).
        key: (batch, heads, length, head_dim).
        value: (batch, heads, length, head_dim), finite everywhere.
        bias: Added to the scores, broadcast to (batch, heads, target, length); None for none.

    Returns:
        (batch, heads, target, head_dim), undefined where a query sees no key; None where the kernel does not apply.
    """
    documents, heads, queries, features = query.shape
    if (
        queries > MAX_QUERIES
        or features % FEATURES
        or key.shape != value.shape
        or (documents, heads, features) != (*key.shape[:2], key.size(3))  # the kernel does not broadcast
        or (kernels := _kernels_for(query, key, value)) is None
    ):
        return None
    strides = (*query.stride(), *key.stride(), *value.stride())
    if bias is not None:
        if bias.dtype is not torch.float32:
            return None
        strides += bias.expand(documents, heads, queries, key.size(2)).stride()
    if strides[3::4] != (1,) * (len(strides) // 4):
        return None
    mixed, scores = query.new_empty(query.shape), query.new_empty(documents * heads * queries * key.size(2))
    kernels.attend(
        *(query.data_ptr(), key.data_ptr(), value.data_ptr(), None if bias is None else bias.data_ptr()),
        *(scores.data_ptr(), mixed.data_ptr(), documents, heads, queries, key.size(2), features),
        _STRIDES(*strides),
    )
    return mixed


def pointer_log_probs(
    logits: Tensor, query: Tensor, precomputed: dict[str, Tensor], generate: Tensor, copy: Tensor
) -> Tensor | None:
    """Distribution of a pointer-generator without gradients, in one pass over the vocabulary and one over the source.

    A result does not depend on other rows and documents, not even in the last bit.

    Args:
        logits: (batch, target, vocab), overwritten.
        query: (batch, target, features).
        precomputed: Of `PointerOutput`, whose keys are the source positions.
        generate: (batch, target, 1), log-probability of generating.
        copy: (batch, target, 1), log-probability of copying.

    Returns:
        Log-probabilities (batch, target, vocab); None where the kernel does not apply.
    """
    key, bias, ids, first = (precomputed[name] for name in ("key", "bias", "ids", "first"))
    documents, rows, features = query.shape
    tensors = (logits, query, key, bias, generate, copy)
    if features % POINTER_FEATURES or (kernels := _kernels_for(*tensors)) is None:
        return None
    if not all(tensor.is_contiguous() for tensor in (*tensors, ids, first)):
        return None
    scores = query.new_empty(documents * rows * key.size(2))
    kernels.pointer_log_probs(
        *(tensor.data_ptr() for tensor in (*tensors, ids, first, scores)),
        *(documents, rows, logits.size(2), key.size(2), features),
    )
    return logits


def _kernels_for(*tensors: Tensor) -> ctypes.CDLL | None:
    """Return the compiled kernels if they compute with these tensors."""
    if (
        torch.is_grad_enabled()
        or any(tensor.dtype is not torch.float32 or tensor.device.type != "cpu" for tensor in tensors)
        or torch.compiler.is_exporting()
        or is_in_torch_dispatch_mode()  # which counts the operators of torch
    ):
        return None
    return load_kernels()
