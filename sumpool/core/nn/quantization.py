"""Post-training quantization and weight prepacking of linear layers.

A decoding step multiplies two to some dozen rows by all weights of the decoder; its time is that of reading the
weights. The default layout reads them at a fraction of the memory bandwidth; prepacked or smaller weights are faster.

int8: weights are quantized per output channel, inputs dynamically per row. Products are accumulated as integers,
exactly, so that the result of a row does not depend on its batch mates, not even in the last bit. Before AVX512-VNNI,
processors add products of two neighbours in 16 bits with saturation; scales are chosen such that two neighbouring
weights together need at most 8 bits. With AVX512-VNNI, `kernels.cpp` does in one call what takes five of torch, in
half of their time, with the same bits.
"""

import os
import warnings
from ctypes import CDLL
from typing import Any, Literal, final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.kernels import FEATURES_MULTIPLE, load_kernels
from sumpool.core.nn.layers import TiedProjection

Precision = Literal["fp32", "bf16", "int8"]

MIN_QUANTIZED_OUTPUTS = 16
"""Layers with fewer outputs (scores, gates) are never quantized: they take no time and are sensitive to errors."""

ROWS_PER_CHUNK = 512
"""Rows that are quantized, multiplied and scaled while in the processor's cache."""

_LEVELS = 127
_ZERO_POINT = 128
"""Zero point of unsigned 8-bit integers."""
_BLOCK = 64
"""Outputs whose weights `kernels.cpp` reads together."""

# oneDNN, and torch beside it, keep the code of a product for 1,024 numbers of rows each: half a megabyte in bf16.
for _cache in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
    os.environ.setdefault(_cache, "64")


@final
class UnquantizedLinear(nn.Linear):
    """Linear layer whose weights are read directly by its module, so that it is never replaced."""


@final
class PackedLinear(nn.Module):
    """Linear layer in the precision of its weights, which oneDNN has prepacked; equals `nn.Linear` up to rounding.

    Rows of another precision are rounded, and its output is in theirs.
    """

    bias: Tensor | None

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        """Prepack the weights.

        Args:
            weight: (out_features, in_features), on the CPU; not kept.
            bias: (out_features,).
        """
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.dtype = weight.dtype
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach())
        self.register_buffer("bias", bias if bias is None else bias.detach())

    def forward(self, rows: Tensor) -> Tensor:
        """Map (..., in_features) to (..., out_features)."""
        rounded = rows.to(self.dtype)
        mapped: Tensor = torch.ops.mkldnn._linear_pointwise(rounded, self.packed, self.bias, "none", [], "")
        return mapped.to(rows.dtype)


@final
class SmallLinear(nn.Module):
    """Linear layer of few outputs by a compiled kernel; equals `nn.Linear` up to rounding.

    oneDNN takes 20 microseconds for any product, whatever its size. The result of a row does not depend on its batch
    mates, as it would with MKL.
    """

    kernels: CDLL
    weight: Tensor
    bias: Tensor

    def __init__(self, kernels: CDLL, weight: Tensor, bias: Tensor | None = None) -> None:
        """Copy the weights.

        Args:
            kernels: The compiled kernels.
            weight: (out_features, in_features), of which the latter is a multiple of `FEATURES_MULTIPLE`.
            bias: (out_features,).
        """
        super().__init__()
        self.kernels = kernels
        self.out_features, self.in_features = weight.shape
        self.register_buffer("weight", weight.detach().T.contiguous())
        self.register_buffer("bias", torch.zeros(len(weight)) if bias is None else bias.detach())

    def forward(self, rows: Tensor) -> Tensor:
        """Map (..., in_features) to (..., out_features)."""
        assert rows.dtype is torch.float32
        rows, mapped = rows.contiguous(), rows.new_empty(*rows.shape[:-1], self.out_features)
        self.kernels.small_linear(
            *(rows.data_ptr(), rows.shape[:-1].numel(), self.in_features, self.weight.data_ptr()),
            *(self.bias.data_ptr(), self.out_features, mapped.data_ptr()),
        )
        return mapped


@final
class Int8Linear(nn.Module):
    """Linear layer with int8 weights and dynamic per-row quantization of the input, in single precision."""

    bias: Tensor | None

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        """Quantize and prepack the weights.

        Args:
            weight: (out_features, in_features), on the CPU; not kept.
            bias: (out_features,).
        """
        super().__init__()
        self.out_features, self.in_features = weight.shape
        weight = weight.detach()
        # Scale of each output at which two neighbouring weights of one sign sum to at most 127.
        padded = F.pad(weight, (0, weight.size(1) % 2))
        sums = padded[:, ::2] + padded[:, 1::2]  # (out_features, in_features / 2); less than a weight if signs differ
        largest = torch.maximum(sums.abs().amax(1), weight.abs().amax(1))
        scale = (largest / _LEVELS).clamp_min(torch.finfo(weight.dtype).tiny)
        integers = (weight / scale[:, None]).round().to(torch.int8)
        self.kernels = load_kernels()
        # The plain operator bypasses its Python wrapper: a tenth of the time of a small layer.
        self.multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32.default._op
        self.packed: Any = _prepack(integers, scale) if self.kernels is None else _pack(integers, scale, bias)
        self.register_buffer("bias", bias if bias is None else bias.detach())

    def forward(self, rows: Tensor) -> Tensor:
        """Map (..., in_features) to (..., out_features)."""
        if self.kernels is not None:
            assert rows.dtype is torch.float32
            rows, count = rows.contiguous(), rows.shape[:-1].numel()
            mapped = rows.new_empty(*rows.shape[:-1], self.out_features)
            scratch = rows.new_empty(count * (1 + -(-self.in_features // 4)))
            self.kernels.int8_linear(
                *(rows.data_ptr(), count, self.in_features, self.packed.data_ptr()),
                *(self.out_features, mapped.data_ptr(), scratch.data_ptr()),
            )
            return mapped
        if rows.shape[:-1].numel() > ROWS_PER_CHUNK:
            chunks = [self.forward(chunk) for chunk in rows.flatten(0, -2).split(ROWS_PER_CHUNK)]
            joined: Tensor = torch.cat(chunks).unflatten(0, rows.shape[:-1])
            return joined
        magnitudes = rows.abs()
        largest = magnitudes.amax(-1, keepdim=True)  # (..., 1)
        # Rows of zeros are NaN, of which the product makes some integers; they are multiplied by zero.
        scaled = torch.div(rows, largest, out=magnitudes)
        mapped = self.multiply(scaled, 1 / _LEVELS, _ZERO_POINT, self.packed)
        return mapped.mul_(largest) if self.bias is None else torch.addcmul(self.bias, mapped, largest, out=mapped)


def has_int8() -> bool:
    """Return whether this build of torch has fbgemm's integer matrix products; builds for ARM do not."""
    has_operator = hasattr(torch.ops.quantized, "linear_with_input_q_dq_qweight_dq_output_fp32")
    return has_operator and "fbgemm" in torch.backends.quantized.supported_engines


def has_packed_bf16() -> bool:
    """Return whether oneDNN multiplies matrices in bf16 on this CPU, for which it prepacks the weights."""
    return torch.backends.mkldnn.is_available() and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def quantize(model: nn.Module, precision: Precision, encoder: Precision | None = None) -> None:
    """Replace the linear layers of a model for inference in a precision, one by one to bound peak memory.

    fp32: Layers are prepacked, except in `encoder`, where batches are large enough not to gain, and except on a GPU.
    int8: Linear layers are quantized, or rounded to bf16 in `encoder` if that is its precision; of `output` only the
    projection to the vocabulary, since the pointer's layers are small and cause half of the total error. bf16: All
    weights are rounded, and prepacked where oneDNN multiplies in bf16; softmax, normalisation and log-probabilities are
    computed in single precision.

    Args:
        model: The model, on its final device. It cannot be trained, saved or moved afterwards.
        precision: Precision of the linear layers.
        encoder: Precision of those of the encoder if it is another one: bf16 beside int8.

    Raises:
        ValueError: If the model is in training mode, or its device does not support the precision.
    """
    if encoder not in (None, precision) and (precision, encoder) != ("int8", "bf16"):
        raise ValueError(f"precision of the encoder must be {precision}, or bf16 beside int8, got {encoder}")
    if model.training:
        raise ValueError("the model must be in evaluation mode to be quantized, got training mode; call eval()")
    on_cpu = next(model.parameters()).device.type == "cpu"
    if precision == "bf16":
        model.to(torch.bfloat16)
        on_cpu = on_cpu and has_packed_bf16()
    if precision == "int8" and not (on_cpu and has_int8()):
        raise ValueError("precision must be fp32 or bf16 on a GPU, or where torch comes without fbgemm, got int8")
    if not on_cpu:
        return
    kernels = load_kernels()
    for name in [name for name, layer in model.named_modules() if type(layer) in (nn.Linear, TiedProjection)]:
        layer = model.get_submodule(name)
        if isinstance(layer, TiedProjection):
            weight, bias = layer.embedding.weight, None
        else:
            assert isinstance(layer, nn.Linear)
            weight, bias = layer.weight, layer.bias
        in_encoder = name.startswith("encoder.")
        in_pointer = name.startswith("output.") and isinstance(layer, nn.Linear)
        replacement: nn.Module
        if precision == "int8" and not in_pointer and len(weight) >= MIN_QUANTIZED_OUTPUTS:
            if in_encoder and encoder == "bf16":
                replacement = PackedLinear(weight.bfloat16(), None if bias is None else bias.bfloat16())
            else:
                replacement = Int8Linear(weight, bias)
        elif precision == "int8" and in_pointer and kernels is not None and not weight.size(1) % FEATURES_MULTIPLE:
            replacement = SmallLinear(kernels, weight, bias)
        elif (in_encoder and precision != "bf16") or not torch.backends.mkldnn.is_available():
            continue
        else:
            replacement = PackedLinear(weight, bias)
        parent, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(parent), attribute, replacement.eval())


def _pack(weight: Tensor, scale: Tensor, bias: Tensor | None) -> Tensor:
    """Pack int8 weights (out_features, in_features), their scales and bias (out_features,) for `kernels.cpp`."""
    outputs, inputs = weight.shape
    weight = F.pad(weight, (0, -inputs % 4, 0, -outputs % _BLOCK))
    blocks = weight.view(-1, _BLOCK, weight.size(1) // 4, 4).transpose(1, 2)
    offsets = _ZERO_POINT * weight.sum(1, dtype=torch.int32)
    scale = scale * torch.tensor(1 / _LEVELS)
    shift = torch.zeros(outputs) if bias is None else bias.detach()
    floats = F.pad(torch.stack([scale, shift]), (0, -outputs % _BLOCK))
    return torch.cat([part.flatten().view(torch.uint8) for part in (blocks, offsets, floats)])


def _prepack(weight: Tensor, scale: Tensor) -> torch.ScriptObject:
    """Prepack int8 weights (out_features, in_features) with their scales (out_features,) for fbgemm."""
    engine = torch.backends.quantized.engine
    torch.backends.quantized.engine = "fbgemm"  # "x86" may choose a layout without dynamic quantization
    try:
        with warnings.catch_warnings():
            # Quantized tensors are deprecated in torch, but nothing else reaches fbgemm; torchao is several times
            # slower on a CPU.
            warnings.filterwarnings("ignore", "torch.quantize_per_tensor, torch.quantize_per_channel", UserWarning)
            zeros = torch.zeros_like(scale, dtype=torch.long)
            quantized = torch._make_per_channel_quantized_tensor(weight, scale, zeros, 0)
        packed: torch.ScriptObject = torch.ops.quantized.linear_prepack(quantized, None)
        return packed
    finally:
        torch.backends.quantized.engine = engine
