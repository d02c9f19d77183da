"""Compiled kernels of inference, in `kernels.cpp`, on a CPU with AVX-512 VNNI; elsewhere those of torch serve."""

import ctypes
from functools import cache
from pathlib import Path

import torch
from torch import Tensor
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

FEATURES_MULTIPLE = 8
"""Numbers of features that are multiplied in single precision must be multiples of this one."""


@cache
def load_kernels() -> ctypes.CDLL | None:
    """Load the compiled kernels; None where there are none of this version or the CPU has no AVX-512 VNNI."""
    if not torch.cpu._is_vnni_supported():
        return None
    pointer, size = ctypes.c_void_p, ctypes.c_int64
    try:
        library = ctypes.CDLL(str(Path(__file__).with_name("libkernels.so.1")))
        library.int8_linear.argtypes = (pointer, size, size, pointer, size, pointer, pointer)
        library.decode.argtypes = (pointer,) * 6
        library.small_linear.argtypes = (pointer, size, size, pointer, pointer, size, pointer)
        library.pointer_log_probs.argtypes = (*(pointer,) * 9, *(size,) * 5)
        library.draw.argtypes = (pointer, pointer, size, size, ctypes.c_float, size, pointer)
    except (OSError, AttributeError):
        return None
    for kernel in (library.int8_linear, library.decode, library.small_linear, library.pointer_log_probs, library.draw):
        kernel.restype = None
    return library


def kernels_for(*tensors: Tensor) -> ctypes.CDLL | None:
    """Return the compiled kernels if they compute with these tensors, without gradients."""
    if (
        torch.is_grad_enabled()
        or any(tensor.dtype is not torch.float32 or tensor.device.type != "cpu" for tensor in tensors)
        or torch.compiler.is_exporting()
        or is_in_torch_dispatch_mode()  # which counts the operators of torch
        or not all(tensor.is_contiguous() for tensor in tensors)
    ):
        return None
    return load_kernels()


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
    if features % FEATURES_MULTIPLE or not (ids.is_contiguous() and first.is_contiguous()):
        return None
    if (kernels := kernels_for(*tensors)) is None:
        return None
    scores = query.new_empty(documents * rows * key.size(2))
    kernels.pointer_log_probs(
        *(tensor.data_ptr() for tensor in (*tensors, ids, first, scores)),
        *(documents, rows, logits.size(2), key.size(2), features),
    )
    return logits


def draw(log_probs: Tensor, draws: Tensor, temperature: float, eos: int) -> Tensor | None:
    """Compute `sumpool.core.decoding.beam.draw_tokens`; None where the kernel does not apply."""
    if (kernels := kernels_for(log_probs, draws)) is None:
        return None
    tokens = torch.empty(len(draws), dtype=torch.long)
    kernels.draw(
        *(log_probs.data_ptr(), draws.data_ptr(), *log_probs.shape, temperature, eos, tokens.data_ptr()),
    )
    return tokens
