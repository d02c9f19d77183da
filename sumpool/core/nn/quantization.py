"""Linear maps for use after training: their weights are laid out once as the processor reads them fastest.

A step of a search takes two to some dozen rows through all weights of the decoder, and its time is that of reading
them. In the plain layout that goes at a fraction of the memory's speed; in a packed one, or with fewer bytes, faster.

int8: weights are whole numbers times a scale for each output, rows of the input whole numbers times the largest value
of the row. Their products are summed as integers, exactly, so that a row's result does not depend on what else is in
the batch, not even in its last bit. Before AVX512-VNNI a processor sums the products of two neighbours in 16 bits with
a sign, which numbers of 8 bits may clip; the scale is such that two neighbours together have no more than 8 bits.
"""

import warnings
from typing import Literal, final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.layers import TiedProjection

Precision = Literal["fp32", "bf16", "int8"]

_FEWEST_OUTPUTS = 16
"""Maps of fewer outputs are never rounded: they score, gate and weigh, take no time, and a small error there shows."""

_ROWS_AT_ONCE = 512
"""Rows that are rounded, multiplied and scaled while they are in the processor's cache."""

_LEVELS = 127
_TINY = torch.finfo(torch.float32).tiny
"""What a row of zeros is divided by."""
_ZERO = 128
"""Zero, among numbers of 8 bits without a sign."""


@final
class UnquantizedLinear(nn.Linear):
    """A linear map whose weights others read, so that no packed one can take its place."""


@final
class PackedLinear(nn.Module):
    """A linear map in single precision, with weights in the blocks of oneDNN: as `nn.Linear`, but for rounding."""

    bias: Tensor | None

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        """Pack.

        Args:
            weight: (out_features, in_features), on the CPU; not kept.
            bias: (out_features,).
        """
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach())
        self.register_buffer("bias", bias if bias is None else bias.detach())

    def forward(self, rows: Tensor) -> Tensor:
        """Map (..., in_features) to (..., out_features)."""
        mapped: Tensor = torch.ops.mkldnn._linear_pointwise(rows, self.packed, self.bias, "none", [], "")
        return mapped


@final
class Int8Linear(nn.Module):
    """A linear map with weights and rows rounded to whole numbers, each row on its own."""

    bias: Tensor | None

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        """Round and pack.

        Args:
            weight: (out_features, in_features), on the CPU; not kept.
            bias: (out_features,).
        """
        super().__init__()
        self.out_features, self.in_features = weight.shape
        # Without what torch does first around an operator that is given packed weights: a tenth of a small map's time.
        self.multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32.default._op
        scale = _scale(weight.detach())
        self.packed = _prepack((weight.detach() / scale[:, None]).round().to(torch.int8), scale)
        self.register_buffer("bias", bias if bias is None else bias.detach())

    def forward(self, rows: Tensor) -> Tensor:
        """Map (..., in_features) to (..., out_features)."""
        if rows.shape[:-1].numel() <= _ROWS_AT_ONCE:
            return self._map(rows)
        pieces = [self._map(some) for some in rows.flatten(0, -2).split(_ROWS_AT_ONCE)]
        mapped: Tensor = torch.cat(pieces).unflatten(0, rows.shape[:-1])
        return mapped

    def _map(self, rows: Tensor) -> Tensor:
        largest = rows.abs().amax(-1, keepdim=True).clamp_min_(_TINY)  # (..., 1)
        mapped: Tensor = self.multiply(rows / largest, 1 / _LEVELS, _ZERO, self.packed)
        return mapped.mul_(largest) if self.bias is None else torch.addcmul(self.bias, mapped, largest)


def has_int8() -> bool:
    """Whether this build of torch has the integer products of fbgemm; those for ARM do not."""
    known = hasattr(torch.ops.quantized, "linear_with_input_q_dq_qweight_dq_output_fp32")
    return known and "fbgemm" in torch.backends.quantized.supported_engines


def pack(model: nn.Module, precision: Precision) -> None:
    """Let the linear maps of a model compute in a precision, map by map, so that memory never holds both forms of all.

    With fp32 the maps of `encoder` stay as they are, for they see so many rows at once that nothing is gained, and so
    do all maps on a GPU. With int8 only linear maps are rounded, and of those of `output` only the product with the
    vocabulary: what compares an output with the source is small, and half of the whole error comes from it. With bf16
    all weights are; softmax, norms and log-probabilities are computed in single precision nevertheless.

    Args:
        model: The model, where it is to be used. It cannot be trained, saved or moved afterwards.
        precision: How to compute.

    Raises:
        ValueError: If the model is in training mode, or its place has no such precision.
    """
    if model.training:
        raise ValueError("the model must be in evaluation mode to be packed, got training mode; call eval()")
    if precision == "bf16":
        model.to(torch.bfloat16)
        return
    on_cpu = next(model.parameters()).device.type == "cpu"
    if precision == "int8" and not (on_cpu and has_int8()):
        raise ValueError("precision must be fp32 or bf16 on a GPU, or where torch comes without fbgemm, got int8")
    if not on_cpu:
        return
    for name in [name for name, part in model.named_modules() if type(part) in (nn.Linear, TiedProjection)]:
        parent, _, own = name.rpartition(".")
        packed = _packed(name, model.get_submodule(name), precision)
        setattr(model.get_submodule(parent), own, packed.eval())


def _packed(name: str, plain: nn.Module, precision: Precision) -> nn.Module:
    """Pack a linear map in what suits its place in the model, or give it back as it is."""
    weight, bias = _weights(plain)
    reads, points = name.startswith("encoder."), name.startswith("output.") and not isinstance(plain, TiedProjection)
    if precision == "int8" and not points and len(weight) >= _FEWEST_OUTPUTS:
        return Int8Linear(weight, bias)
    return plain if reads or not torch.backends.mkldnn.is_available() else PackedLinear(weight, bias)


def _weights(part: nn.Module) -> tuple[Tensor, Tensor | None]:
    """Give the weights of a linear map (out_features, in_features) and its bias (out_features,)."""
    if isinstance(part, TiedProjection):
        return part.embedding.weight, None
    assert isinstance(part, nn.Linear)
    return part.weight, part.bias


def _scale(weight: Tensor) -> Tensor:
    """Choose the scale of each output (out_features,), so that no two neighbours of one sign make more than 127."""
    pairs = F.pad(weight, (0, weight.size(1) % 2)).unflatten(1, (-1, 2))  # (out_features, in_features / 2, 2)
    largest = torch.maximum(pairs.relu().sum(2), pairs.neg().relu().sum(2)).amax(1)
    return (largest / _LEVELS).clamp_min(torch.finfo(weight.dtype).tiny)


def _prepack(weight: Tensor, scale: Tensor) -> torch.ScriptObject:
    """Lay whole numbers (out_features, in_features) with their scales (out_features,) out for fbgemm."""
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = "fbgemm"  # "x86" may choose a layout that has no product for rows of floats
    try:
        with warnings.catch_warnings():
            # torch calls its quantized tensors deprecated, and there is no other way into fbgemm; what comes of torchao
            # instead is several times slower on a CPU.
            warnings.filterwarnings("ignore", "torch.quantize_per_tensor, torch.quantize_per_channel", UserWarning)
            zeros = torch.zeros_like(scale, dtype=torch.long)
            quantized = torch._make_per_channel_quantized_tensor(weight, scale, zeros, 0)
        packed: torch.ScriptObject = torch.ops.quantized.linear_prepack(quantized, None)
        return packed
    finally:
        torch.backends.quantized.engine = before
