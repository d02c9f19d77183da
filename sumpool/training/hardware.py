"""Which device trains and writes, and in which precision."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch

from sumpool.core.nn.quantization import Precision, has_int8
from sumpool.errors import RecipeError

CPU_INFORMATION = Path("/proc/cpuinfo")


def choose_device(name: Literal["auto", "cpu", "cuda"]) -> torch.device:
    """Find the device that a recipe asks for.

    Raises:
        RecipeError: If it asks for a GPU and there is none.
    """
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise RecipeError("train.device must be 'cpu' or 'auto' where torch finds no GPU, got 'cuda'")
    return torch.device("cuda" if available and name != "cpu" else "cpu")


def choose_precision(name: Literal["auto", "fp32", "bf16"], device: torch.device) -> torch.dtype:
    """Find the precision of matrix products: bf16 where asked for, or where it is fast and the choice is free."""
    if name == "auto":
        fast = torch.cuda.is_bf16_supported(False) if device.type == "cuda" else _has_fast_bf16()
        return torch.bfloat16 if fast else torch.float32
    return torch.bfloat16 if name == "bf16" else torch.float32


def choose_writing(
    name: Literal["auto"] | Precision, device: torch.device, setting: str = "summarize.precision"
) -> Precision:
    """Find the precision in which summaries are written.

    Args:
        name: What the recipe says; auto is int8 on a CPU and bf16 on a GPU, and fp32 where that is not to be had.
        device: Where they are written.
        setting: Where the recipe says it.

    Raises:
        RecipeError: If it is int8, and there are no products of integers.
    """
    integers = device.type == "cpu" and has_int8()
    if name == "auto":
        return "int8" if integers else "bf16" if choose_precision("auto", device) is torch.bfloat16 else "fp32"
    if name == "int8" and not integers:
        raise RecipeError(
            f"{setting} must be 'auto', 'fp32' or 'bf16' on this {device.type}, for which torch has no fast "
            "products of integers, got 'int8'"
        )
    return name


def autocast(device: torch.device, precision: torch.dtype) -> torch.autocast:
    """Compute in a precision what gains from it, and leave everything alone in fp32."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision is torch.bfloat16)


@contextmanager
def reproducible(device: torch.device) -> Iterator[None]:
    """Compute the same bits every time on the CPU, where it costs nothing; a GPU is left to its fast kernels."""
    memory: Any = torch.utils.deterministic
    mode, filled = torch.get_deterministic_debug_mode(), memory.fill_uninitialized_memory
    torch.set_deterministic_debug_mode("error" if device.type == "cpu" else mode)
    memory.fill_uninitialized_memory = False  # nothing here reads what it has not written
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(mode)
        memory.fill_uninitialized_memory = filled


def _has_fast_bf16() -> bool:
    """Whether the processor multiplies bf16 itself; torch says so in public only since 2.11."""
    if not CPU_INFORMATION.exists():
        return False
    words = CPU_INFORMATION.read_text(encoding="utf-8", errors="replace").split()
    return "avx512_bf16" in words or "amx_bf16" in words
