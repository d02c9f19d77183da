import ctypes
import subprocess
import sys

import pytest

HEAPS = """
import ctypes, threading
from sumpool.service.memory import share_one_heap
share_one_heap()
barrier = threading.Barrier(4)
def allocate():
    ctypes.CDLL(None).malloc(10_000)
    barrier.wait()  # else the heap of a thread that has ended is taken again
threads = [threading.Thread(target=allocate) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
ctypes.CDLL(None).malloc_stats()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_stats"), reason="the C library is not glibc")
def test_threads_share_one_heap() -> None:
    """Without a limit each thread has one."""
    heaps = subprocess.run([sys.executable, "-c", HEAPS], capture_output=True, check=True, text=True).stderr
    assert heaps.count("Arena ") == 1
