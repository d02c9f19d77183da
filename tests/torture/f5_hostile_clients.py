"""The service under hostile clients, in a process of their own: `python -m tests.torture.f5_hostile_clients PORT`.

They send slow headers, slow bodies, documents by the million, values and escapes that take a hundred times their bytes,
bombs, and large bodies without the token, again and again.
"""

import gzip
import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from http.client import HTTPConnection, HTTPException
from itertools import cycle
from pathlib import Path
from typing import Any, Final

from tests.conftest import story
from tests.torture.figures import Measured, memory, start, wait

ID: Final = "F5"
FIGURE: Final = (
    "the service under slow headers and bodies, a million empty texts, bombs and 40 bodies without the token: /health "
    "within 1 s, 20 honest clients answered as alone, at most 1.5 GB with its processes, within 10 % of before after it"
)
NIGHT: Final = 120
QUICK: Final = 0
_TOKEN = "0123456789abcdef"
_HONEST = 20
_HEAD = f"POST /v1/summaries HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {_TOKEN}\r\n"
_JSON = f"{_HEAD}Content-Type: application/json\r\n"
_MIB = 2**20


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
    """Serve the shipped model in a process of its own; gives its port and its process, whose stderr is a file."""
    (folder / "token").write_text(_TOKEN)
    words = ("serve", "--port", "0", "--token-file", str(folder / "token"), *options)
    log = folder / "log"
    with log.open("w") as errors, start("-m", "sumpool", *words, stderr=errors) as process:
        wait(lambda: process.poll() is not None or "listening on" in log.read_text(), 120)
        try:
            yield int(re.findall(r":(\d+)/", log.read_text())[0]), process
        finally:
            process.terminate()


def measure(count: int, folder: Path) -> Measured:
    """Attack for `count` seconds, in which honest clients ask."""
    with serving(folder) as (port, process):
        text = {"text": story(1, 40), "length": "40w"}
        expected = max(str(ask(port, text)) for _ in range(10))
        long = "<html><body>" + f"<p>{story(2, 200)}</p>" * 100
        with ThreadPoolExecutor(2) as clients:  # so that the processes that read documents have been started
            assert all(clients.map(lambda _: isinstance(ask(port, long), str), range(2)))
        before = memory(process.pid)
        peaks, ended = [before], threading.Event()
        delays: list[float | str] = []
        watchers = [
            threading.Thread(target=_watch, args=(lambda: peaks.append(memory(process.pid)), ended)),
            threading.Thread(target=_watch, args=(lambda: delays.append(_health(port)), ended)),
        ]
        hostile = start("-m", "tests.torture.f5_hostile_clients", str(port), stdout=subprocess.PIPE)
        with hostile, ThreadPoolExecutor(_HONEST) as clients:
            assert hostile.stdout
            hostile.stdout.readline()
            for watcher in watchers:
                watcher.start()
            time.sleep(count / 2)
            answers = list(clients.map(lambda _: ask(port, text), range(_HONEST)))
            time.sleep(count / 2)
            hostile.kill()
        ended.set()
        for watcher in watchers:
            watcher.join()
        end = time.monotonic() + 120
        while (after := memory(process.pid)) > 1.1 * before and time.monotonic() < end:
            time.sleep(1)
    right = answers.count(expected)
    failures = [delay for delay in delays if isinstance(delay, str)]
    slowest = max((delay for delay in delays if not isinstance(delay, str)), default=0)
    log = (folder / "log").read_text().splitlines()[2:]
    told = "".join(f"; log: {line}" for line in log if line != "stopped by SIGTERM")[:200]
    return Measured(
        f"/health within {slowest:.2f} s ({len(delays)} times, {len(failures)} failed{failures[:1] or ''}), "
        f"{right} of {_HONEST} answered; "
        f"{before:.0f} MB, at most {max(peaks):.0f} MB, then {after:.0f} MB{told}",
        right == _HONEST and slowest <= 1 and max(peaks) <= 1500 and after <= 1.1 * before and not (failures or told),
        count,
    )


def ask(port: int, content: dict[str, str] | str) -> object:
    """Summary of a text as JSON or of the content of a file, or what there is instead."""
    connection = HTTPConnection("127.0.0.1", port, timeout=600)
    kind, body = ("text/html", content) if isinstance(content, str) else ("application/json", json.dumps(content))
    headers = {"Content-Type": kind, "Authorization": f"Bearer {_TOKEN}"}
    try:
        connection.request("POST", "/v1/summaries", body.encode(), headers)
        answer: dict[str, Any] = json.load(connection.getresponse())
        return answer["summaries"][0]["text"] if "summaries" in answer else answer
    except (OSError, HTTPException, ValueError) as error:
        return repr(error)
    finally:
        connection.close()


def _watch(look: Callable[[], object], ended: threading.Event) -> None:
    while not ended.wait(0.1):
        look()


def _health(port: int) -> float | str:
    """Seconds until /health has answered, or why it has not."""
    start = time.monotonic()
    try:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/health")
        status = connection.getresponse().status
        connection.close()
    except (OSError, HTTPException) as error:
        return f"{error!r} after {time.monotonic() - start:.2f} s"
    return time.monotonic() - start if status == 200 else f"status {status}"


def _body(kind: str, body: bytes) -> tuple[bytes, bytes]:
    return f"{_HEAD}Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode(), body


def _bodies() -> list[tuple[bytes, bytes]]:
    """Heads and bodies of requests that take much for their bytes."""
    values = [
        _body("application/json", b'{"texts": [' + value * (size // len(value)) + b'""]}')
        for value, size in ((b'"",', 3 * _MIB), (b'"",', 24 * _MIB), (b"[],", 24 * _MIB), (b'{"a":1},', 24 * _MIB))
    ]
    names = b",".join(b'"%d":1' % number for number in range(2 * _MIB))
    escapes = _body("application/x-www-form-urlencoded", b"text=" + b"%41" * (10 * _MIB))
    parts = b"--x\r\nContent-Disposition: form-data; name=text\r\n\r\na\r\n" * 400_000 + b"--x--\r\n"
    rows = b"text\n" + b"a b.\n" * (50 * _MIB)
    words = b"The gateway forwards packets between two networks, and keeps its routes in a table.\n\n" * (3 * _MIB)
    return [
        *values,
        _body("application/json", b"{" + names + b"}"),
        _body("application/json", b'{"text": "' + b"a b. " * (6 * _MIB) + b'"}'),
        escapes,
        _body("multipart/form-data; boundary=x", parts),
        *(_body("application/octet-stream", gzip.compress(content, 6)) for content in (rows, words, bytes(2**30))),
        _body("application/octet-stream", words[: 30 * _MIB]),
        (f"{_JSON}Transfer-Encoding: chunked\r\n\r\n".encode(), b"1\r\na\r\n" * _MIB),
    ]


def _trickle(connection: socket.socket, head: bytes) -> None:
    """Send a head, and then a byte a second."""
    connection.sendall(head)
    while True:
        time.sleep(1)
        connection.sendall(b"a")


def _send(connection: socket.socket, requests: Iterator[tuple[bytes, bytes]]) -> None:
    """Send the next request, and wait for some answer."""
    for part in next(requests):
        connection.sendall(part)
    connection.recv(4096)


def _forever(port: int, attack: Callable[[socket.socket], object]) -> None:
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            attack(connection)


def _attack(port: int) -> None:
    """Attack until killed."""
    large = bytes(32 * _MIB)
    length = f"Host: localhost\r\nContent-Length: {len(large)}\r\n\r\n"
    without_token = [(f"POST {path} HTTP/1.1\r\n{length}".encode(), large) for path in ("/v1/summaries", "/health")]
    attacks = [
        *[partial(_trickle, head=b"GET /health HTTP/1.1\r\nX: ")] * 250,
        *[partial(_trickle, head=f"{_JSON}Content-Length: 1000000\r\n\r\n".encode())] * 40,
        *[partial(_send, requests=cycle(_bodies()))] * 8,
        *[partial(_send, requests=cycle(without_token))] * 40,
    ]
    sys.stdout.write("begins\n")
    sys.stdout.flush()
    for attack in attacks:
        threading.Thread(target=_forever, args=(port, attack), daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    _attack(int(sys.argv[1]))
