"""Connections as a process has them, with limits that a test can wait for."""

import ctypes
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from fastapi import FastAPI

from sumpool.service import protection
from sumpool.service.protection import Connection
from tests.service.test_app import listening

SLOW = b"GET /health HTTP/1.1\r\nHost: a\r\nX: "
WHOLE = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(protection, "HEADER_SECONDS", 2.0)
    monkeypatch.setattr(protection, "_MOST", 3)
    monkeypatch.setattr(protection, "_LEAST_SECONDS", 0.5)
    app = FastAPI()
    app.add_api_route("/health", lambda: "up")
    with listening(app, http=Connection) as port:
        yield port


def connect(port: int, content: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.sendall(content)
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Wait for the end of a connection, which must come before the timeout."""
    with suppress(ConnectionError):
        while connection.recv(4096):
            pass
    return True


@pytest.mark.parametrize("before", [b"", WHOLE])
def test_a_header_must_come_in_time(port: int, before: bytes) -> None:
    with connect(port, before + SLOW[:5]) as slow:
        start = time.monotonic()
        if before:
            assert slow.recv(4096).startswith(b"HTTP/1.1 200")
        for byte in SLOW[5:13]:
            with suppress(ConnectionError):
                slow.sendall(bytes([byte]))
            time.sleep(0.2)
        assert is_closed(slow)
        assert time.monotonic() - start < 10


def test_a_header_in_parts_is_read(port: int) -> None:
    with connect(port, SLOW) as slow:
        time.sleep(0.2)
        slow.sendall(b"a\r\n\r\n")
        assert slow.recv(4096).startswith(b"HTTP/1.1 200")


def test_the_oldest_connection_that_sends_gives_way(port: int) -> None:
    held = [connect(port, SLOW) for _ in range(3)]
    time.sleep(0.6)
    with connect(port, WHOLE) as honest:
        assert honest.recv(4096).startswith(b"HTTP/1.1 200")
        assert is_closed(held[0])
        held[2].sendall(b"a\r\n\r\n")
        assert held[2].recv(4096).startswith(b"HTTP/1.1 200")
    for connection in held:
        connection.close()


def test_a_new_connection_has_time_for_its_request_however_many_follow(port: int) -> None:
    with connect(port, WHOLE[:5]) as honest:
        others = [connect(port, SLOW) for _ in range(9)]
        time.sleep(0.1)
        honest.sendall(WHOLE[5:])
        assert honest.recv(4096).startswith(b"HTTP/1.1 200")
    for connection in others:
        connection.close()


def test_chunked_bodies_are_refused(port: int) -> None:
    for length in (b"", b"Content-Length: 3\r\n"):
        head = b"POST /health HTTP/1.1\r\nHost: a\r\n" + length + b"Transfer-Encoding: chunked\r\n\r\n"
        with connect(port, head + b"1\r\na\r\n" * 1000) as chunked:
            answer = b""
            while part := chunked.recv(4096):
                answer += part
        assert answer.startswith(b"HTTP/1.1 400")
        assert b"must have a Content-Length, and not be chunked." in answer


HEAPS = """
import ctypes, threading
from sumpool.service.protection import share_one_heap
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
