import ctypes
import socket
import subprocess
import sys

import pytest

from sumpool.workflows.serve import listen

HEAPS = """
import ctypes, threading
from sumpool.workflows.serve import share_one_heap
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


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_free_port_is_taken(host: str) -> None:
    with listen(host, 0) as listener, socket.create_connection(listener.getsockname()[:2], timeout=5):
        assert listener.getsockname()[0] == host


def test_a_foreign_address_is_refused() -> None:
    with pytest.raises(OSError, match="assign requested address"):
        listen("192.0.2.1", 0)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_stats"), reason="the C library is not glibc")
def test_threads_share_one_heap() -> None:
    """Without a limit each thread has one."""
    heaps = subprocess.run([sys.executable, "-c", HEAPS], capture_output=True, check=True, text=True).stderr
    assert heaps.count("Arena ") == 1
