"""Linear maps for use after training: their weights are laid out once as the processor reads them fastest.

A step of a search takes two to some dozen rows through all weights of the decoder, and its time is that of reading
them. In the plain layout that goes at a fraction of the memory's speed; in a packed one, or with fewer bytes, faster.

int8: weights are whole numbers of 7 bits times a scale for each output, rows of the input whole numbers of 8 bits times
the largest value of the row. Their products are summed as integers, exactly, so that a row's result does not depend on
what else is in the batch, not even in its last bit. The seventh bit of the weights goes to the rows, which need it
more: before AVX512-VNNI a processor adds two products in 16 bits, 2 * 255 * 64 at most, and more than 15 bits clip.
"""

import warnings
from typing import Literal, final

import torch
from torch import Tensor, nn

from sumpool.core.nn.vocabulary import VocabularyMap

Precision = Literal["fp32", "bf16", "int8"]

_FEWEST_OUTPUTS = 16
"""Maps of fewer outputs stay as they are: they score, gate and weigh, take no time, and a small error there shows."""

_WEIGHT_LEVELS = 64
_ROW_LEVELS = 127
_ZERO = 128
"""Zero, among numbers of 8 bits without a sign."""


@final
class OpenLinear(nn.Linear):
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
        scale = (weight.detach().abs().amax(1) / _WEIGHT_LEVELS).clamp_min(torch.finfo(weight.dtype).tiny)
        self.packed = _prepack((weight.detach() / scale[:, None]).round().to(torch.int8), scale)
        self.register_buffer("bias", bias if bias is None else bias.detach())

    def forward(self, rows: Tensor) -> Tensor:
        """Map (..., in_features) to (..., out_features)."""
        largest = rows.abs().amax(-1, keepdim=True).clamp_min(torch.finfo(rows.dtype).tiny)  # (..., 1); zeros stay so
        multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32
        mapped: Tensor = multiply(rows / largest, 1 / _ROW_LEVELS, _ZERO, self.packed)
        return mapped.mul_(largest) if self.bias is None else torch.addcmul(self.bias, mapped, largest)


def has_int8() -> bool:
    """Whether this build of torch has the integer products of fbgemm; those for ARM do not."""
    return "fbgemm" in torch.backends.quantized.supported_engines


def pack(model: nn.Module, precision: Precision) -> None:
    """Let the linear maps of a model compute in a precision, map by map, so that memory never holds both forms of all.

    What is not a linear map stays in single precision with fp32 and int8. The maps of `encoder` stay as they are with
    fp32, for they see so many rows at once that nothing is gained; and on a GPU all maps do. With bf16 all weights are
    rounded; softmax, norms and log-probabilities are computed in single precision nevertheless.

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
    if precision == "fp32" and not (on_cpu and torch.backends.mkldnn.is_available()):
        return
    for name in [name for name, part in model.named_modules() if _gains(name, part, precision)]:
        parent, _, own = name.rpartition(".")
        weight, bias = _weights(model.get_submodule(name))
        packed = PackedLinear(weight, bias) if precision == "fp32" else Int8Linear(weight, bias)
        setattr(model.get_submodule(parent), own, packed.eval())


def _gains(name: str, part: nn.Module, precision: Precision) -> bool:
    """Whether a part of the model is a linear map that is faster when packed."""
    if type(part) not in (nn.Linear, VocabularyMap):
        return False
    return len(_weights(part)[0]) >= _FEWEST_OUTPUTS and (precision == "int8" or not name.startswith("encoder."))


def _weights(part: nn.Module) -> tuple[Tensor, Tensor | None]:
    """Give the weights of a linear map (out_features, in_features) and its bias (out_features,)."""
    if isinstance(part, VocabularyMap):
        return part.embedding.weight, None
    assert isinstance(part, nn.Linear)
    return part.weight, part.bias


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
