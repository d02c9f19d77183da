"""The machine: device, precision and memory."""

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch

from sumpool.core.nn.quantization import Precision, has_int8, has_packed_bf16
from sumpool.errors import RecipeError, is_out_of_memory

CPUINFO = Path("/proc/cpuinfo")
Work = Callable[[], object]
"""Work to measure; its result is discarded."""
Peak = Callable[[Work, torch.device], int | None]
"""Runs a work on a device and returns its peak memory in bytes, None where that cannot be known."""
_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")
_MEMINFO = Path("/proc/meminfo")
_CONTAINER = Path("/sys/fs/cgroup")
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's mallopt: freed bytes that go back to the kernel, and bytes of a block that does so alone."""
_MOST_MMAP_THRESHOLD = 2**25
"""Largest threshold that glibc accepts."""
OUT_OF_MEMORY = "out of memory"
"""Note of a row whose work did not fit."""


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
        # torch has a public function for the instructions of a CPU only since 2.11.
        fast = not _cpu_flags().isdisjoint(("avx512_bf16", "amx_bf16"))
        if device.type == "cuda":
            fast = torch.cuda.is_bf16_supported(False)
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


def _cpu_flags() -> set[str]:
    """Words of the description of the CPU, among them its capabilities; none where there is no description."""
    return set(CPUINFO.read_text(encoding="utf-8", errors="replace").split()) if CPUINFO.exists() else set()


def fits(work: Work) -> bool:
    """Run the work; False where it runs out of memory. Other errors are raised."""
    try:
        work()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return False
    return True


def peak(work: Work, device: torch.device) -> int | None:
    """Run the work once; run it before, too, because what libraries keep from their first call would count.

    Returns:
        Bytes held at the highest moment above those held at the start, or None where that cannot be known.
    """
    gc.collect()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        start = torch.cuda.memory_allocated(device)
        work()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - start
    resident = _reset_high_water()
    work()
    return None if resident is None else max(0, _kilobytes(_STATUS, "VmHWM") * 1024 - resident)


def try_peak(work: Work, device: torch.device, measure: Peak | None = None) -> tuple[int | None, str]:
    """Peak memory as `measure`, by default `peak`, gives it, and a note if the work does not fit, else empty."""
    measure = measure or peak
    peaks: list[int | None] = []
    return (peaks[0], "") if fits(lambda: peaks.append(measure(work, device))) else (None, OUT_OF_MEMORY)


def available(device: torch.device) -> int:
    """Bytes that new work may take: free memory of the device, within the container's limit."""
    if device.type == "cuda":
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0]) + cached
    free = _kilobytes(_MEMINFO, "MemAvailable") * 1024 if _MEMINFO.exists() else physical()
    limit, used = _CONTAINER / "memory.max", _CONTAINER / "memory.current"
    if limit.exists() and used.exists() and limit.read_text().strip() != "max":
        free = min(free, int(limit.read_text()) - int(used.read_text()))
    return max(0, free)


def keep_freed_memory() -> None:
    """Make the C library, where it is glibc, keep the memory of tensors of up to 32 MiB that are freed.

    By default it returns it to the kernel, which clears every page again before the next update gets it: a sixth to a
    quarter of the time of a step on a CPU.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _MOST_MMAP_THRESHOLD)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


def physical() -> int:
    """Bytes of memory that the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _reset_high_water() -> int | None:
    """Reset the mark to the resident set and return its bytes; None where the kernel cannot."""
    if not _RESET.exists():
        return None
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)  # freed memory that the C library keeps would be reused unseen
    try:
        _RESET.write_text("5")
    except OSError:
        return None
    return _kilobytes(_STATUS, "VmRSS") * 1024


def _kilobytes(path: Path, name: str) -> int:
    """Read `Name:   123 kB` out of a file of /proc."""
    for line in path.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise AssertionError(f"{path} must have a line {name}")
