"""Peak memory of a piece of work, and free memory.

On CUDA the peak is that of torch's allocator, exact and repeatable. On Linux it is the high-water mark of the resident
set, reset before the work: everything that the process touched counts, scratch memory of matrix kernels included, to
about a megabyte. Both are above what was there before, so weights do not count. Elsewhere it is None.
"""

import ctypes
import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from sumpool.errors import is_out_of_memory

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
        return _cuda_peak(work, device)
    start = _reset_high_water()
    work()
    return None if start is None else max(0, _kilobytes(_STATUS, "VmHWM") * 1024 - start)


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


def _cuda_peak(work: Work, device: torch.device) -> int:
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    start = torch.cuda.memory_allocated(device)
    work()
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) - start


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
