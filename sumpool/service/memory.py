"""Memory of the C library, where that is glibc."""

import ctypes
import gc
import sys

_M_ARENA_MAX = -8
"""Parameter of mallopt: the greatest number of heaps."""


def share_one_heap() -> None:
    """Make threads that start from now on allocate from one heap.

    By default threads have heaps of their own, each of which keeps the memory that its thread has freed. Few threads
    compute here at a time, and hardly wait for each other.
    """
    _call("mallopt", _M_ARENA_MAX, 1)


def return_memory() -> None:
    """Return freed memory to the system: bodies that errors hold in cycles, and what is scattered over the heap."""
    gc.collect()
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    function = getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
    if function is not None:
        function(*arguments)
