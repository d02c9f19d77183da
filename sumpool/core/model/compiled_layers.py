"""Decoding steps in int8 by a compiled kernel: all layers in one call.

A step of torch is some hundred calls, which for a few rows take as long as the products and attention.
"""

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, final
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from sumpool.core.cross_attention import CrossAttention
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.kv_cache import BeamCache, CompactingCache
from sumpool.core.nn.kernels import kernels_for
from sumpool.core.nn.quantization import Int8Linear

if TYPE_CHECKING:
    from sumpool.core.model.decoder import DecoderLayer

EPSILON = 1e-5
"""Added to variances by the kernel."""
HEAD_MULTIPLE, WIDTH_MULTIPLE = 32, 16
"""Numbers of which the features of a head and of the feed-forward layer must be multiples."""
_ACTIVATIONS = ("relu", "gelu", "silu")
"""In the order of the kernel."""
_Shape = ctypes.c_int64 * 13


class _Layer(ctypes.Structure):
    """Arguments of the kernel: packed weights, weights and biases of normalisations, and caches of a layer."""

    _fields_ = (
        ("linear", ctypes.c_void_p * 6),
        ("norms", ctypes.c_void_p * 6),
        *((name, ctypes.c_void_p) for name in ("cached", "key", "value", "bias")),
    )


@final
class CompiledLayers:
    """Pointers to the weights of a decoder's layers, which must not be replaced."""

    def __init__(self, config: ModelConfig, layers: Sequence["DecoderLayer"]) -> None:
        self._config = config
        self._weights = (_Layer * len(layers))()
        for weights, layer in zip(self._weights, layers, strict=True):
            weights.linear[:] = [part.packed.data_ptr() for part in _linear(layer) if isinstance(part, Int8Linear)]
            weights.norms[:] = [part.data_ptr() for norm in _norms(layer) for part in (norm.weight, norm.bias)]

    @classmethod
    def find(cls, config: ModelConfig, layers: Sequence["DecoderLayer"]) -> "CompiledLayers | None":
        """Return the compiled layers of a decoder, the same for every step; None if the kernel does not apply to it."""
        first: nn.Module = layers[0].attention.project
        if not isinstance(first, Int8Linear):
            return None
        if first not in _FOUND:
            linear = [part for layer in layers for part in _linear(layer)]
            applies = (
                config.dim // config.heads % HEAD_MULTIPLE == config.feed_forward % WIDTH_MULTIPLE == 0
                and all(isinstance(part, Int8Linear) and part.kernels is not None for part in linear)
                and all(type(layer.cross_attention).step is CrossAttention.step for layer in layers)
                and all(norm.eps == EPSILON for layer in layers for norm in _norms(layer))
            )
            _FOUND[first] = cls(config, layers) if applies else None
        return _FOUND[first]

    def step(self, states: Tensor, cache: BeamCache, cross_cache: list[dict[str, Tensor]]) -> Tensor | None:
        """Apply all layers to the newest token of every beam.

        A result depends on no other document, sample or padding, not even in the last bit.

        Args:
            states: (batch, beams, dim).
            cache: With a slot for the token.
            cross_cache: For each layer key and value, (batch, heads, length, head_dim), and their bias.

        Returns:
            (batch, beams, dim); None where the kernel does not compute with these tensors.
        """
        if not isinstance(cache, CompactingCache):
            return None
        memories = [[layer[name] for name in ("key", "value", "bias")] for layer in cross_cache]
        flat = [tensor for memory in memories for tensor in memory]
        if (kernels := kernels_for(states, cache.ancestry_bias, *flat)) is None:
            return None
        caches, _, capacity = cache.ancestry_bias.shape
        documents, rows, dim = states.shape
        heads, width, length = self._config.heads, self._config.feed_forward, flat[0].size(2)
        newest = states.new_empty(2, caches, heads, 0, dim // heads)
        layers = type(self._weights).from_buffer_copy(self._weights)
        for index, (layer, memory) in enumerate(zip(layers, memories, strict=True)):
            layer.cached = cache.buffer(index, newest).data_ptr()
            layer.key, layer.value, layer.bias = (tensor.data_ptr() for tensor in memory)
        shape = _Shape(
            *(len(layers), self._config.norm == "pre", _ACTIVATIONS.index(self._config.activation)),
            *(heads, dim // heads, width, documents, rows, length, flat[2].size(1), caches, capacity, cache.slots_read),
        )
        scratch_per_row = 3 * dim + max(3 * dim, width) + heads * max(cache.slots_read, length)
        scratch_per_row += 1 + -(-max(dim, width) // 4)  # of a quantized row
        states, scratch = states.clone(), states.new_empty(documents * rows * scratch_per_row)
        kernels.decode(
            *(ctypes.addressof(layers), ctypes.addressof(shape), cache.slots.data_ptr()),
            *(cache.ancestry_bias.data_ptr(), states.data_ptr(), scratch.data_ptr()),
        )
        return states


_FOUND: "WeakKeyDictionary[nn.Module, CompiledLayers | None]" = WeakKeyDictionary()
"""By the first linear layer of a decoder, which quantization replaces."""


def _linear(layer: "DecoderLayer") -> list[nn.Module]:
    """Linear layers, in the order of the kernel."""
    attention, cross, feed_forward = layer.attention, layer.cross_attention, layer.feed_forward
    return [attention.project, attention.out, cross.query, cross.out, feed_forward.widen, feed_forward.narrow]


def _norms(layer: "DecoderLayer") -> list[nn.LayerNorm]:
    residuals = (layer.attention_residual, layer.cross_attention_residual, layer.feed_forward_residual)
    return [residual.norm for residual in residuals]
