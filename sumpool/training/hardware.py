"""Device and precision selection."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch

from sumpool.core.nn.quantization import Precision, has_int8, has_packed_bf16
from sumpool.errors import RecipeError

CPUINFO = Path("/proc/cpuinfo")


def choose_device(name: Literal["auto", "cpu", "cuda"]) -> torch.device:
    """Device of a recipe; on a GPU attention is not computed by cuDNN from then on.

    On H100, H200 and B200, torch 2.11 to 2.13 prefer cuDNN in bf16. With a mask, where the number of keys is 64 more
    than a multiple of 128, its gradients may be NaN (pytorch/pytorch#196678), and it compiles for every new shape.

    Raises:
        RecipeError: If the recipe requires a GPU and there is none.
    """
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise RecipeError("train.device must be 'cpu' or 'auto' where torch finds no GPU, got 'cuda'")
    if not available or name == "cpu":
        return torch.device("cpu")
    torch.backends.cuda.enable_cudnn_sdp(False)
    return torch.device("cuda")


def choose_precision(name: Literal["auto", "fp32", "bf16"], device: torch.device) -> torch.dtype:
    """Data type of matrix products in training; auto is bf16 on hardware with fast bf16, else fp32."""
    if name == "auto":
        fast = torch.cuda.is_bf16_supported(False) if device.type == "cuda" else _has_fast_bf16()
        return torch.bfloat16 if fast else torch.float32
    return torch.bfloat16 if name == "bf16" else torch.float32


def choose_generation_precision(
    name: Literal["auto"] | Precision, device: torch.device, setting: str = "summarize.precision"
) -> Precision:
    """Precision of summary generation.

    Args:
        name: Setting; auto is int8 on a CPU and bf16 on a GPU, or fp32 on hardware without it.
        device: Device of generation.
        setting: Name of the setting, for the error.

    Raises:
        RecipeError: If the setting is int8 and torch has no int8 matrix products for the device.
    """
    int8 = device.type == "cpu" and has_int8()
    if name == "auto":
        return "int8" if int8 else "bf16" if choose_precision("auto", device) is torch.bfloat16 else "fp32"
    if name == "int8" and not int8:
        raise RecipeError(
            f"{setting} must be 'auto', 'fp32' or 'bf16' on this {device.type}, for which torch has no "
            "int8 matrix products, got 'int8'"
        )
    return name


def choose_encoder_precision(
    name: Literal["auto"] | Precision, generation: Precision, device: torch.device
) -> Precision:
    """Precision of the encoder beside that of generation, of which it is another only by "auto".

    With AMX a CPU multiplies the many rows of a document faster in bf16 than in int8, and the few rows of a decoding
    step, whose time is that of reading the weights, in int8. Without AMX int8 is the faster one of both, or as fast.
    """
    amx = name == "auto" and device.type == "cpu" and "amx_bf16" in _cpu_flags()
    return "bf16" if amx and generation == "int8" and has_packed_bf16() else generation


def autocast(device: torch.device, precision: torch.dtype) -> torch.autocast:
    """Autocast to bf16; disabled for fp32."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision is torch.bfloat16)


@contextmanager
def reproducible(device: torch.device) -> Iterator[None]:
    """Deterministic algorithms on the CPU, where they are free; a GPU keeps its fast kernels."""
    deterministic: Any = torch.utils.deterministic
    mode, fill = torch.get_deterministic_debug_mode(), deterministic.fill_uninitialized_memory
    torch.set_deterministic_debug_mode("error" if device.type == "cpu" else mode)
    deterministic.fill_uninitialized_memory = False  # uninitialised memory is never read
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(mode)
        deterministic.fill_uninitialized_memory = fill


def _has_fast_bf16() -> bool:
    """Return whether the CPU has bf16 instructions; torch has a public function for this only since 2.11."""
    return not _cpu_flags().isdisjoint(("avx512_bf16", "amx_bf16"))


def _cpu_flags() -> set[str]:
    """Words of the description of the CPU, among them its capabilities; none where there is no description."""
    return set(CPUINFO.read_text(encoding="utf-8", errors="replace").split()) if CPUINFO.exists() else set()
