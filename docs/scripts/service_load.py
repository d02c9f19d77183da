"""Load on `sumpool serve`: many clients for a while, a tenth of them hostile, beside one client at a time.

    python docs/scripts/service_load.py DOCUMENTS.jsonl [CLIENTS] [SECONDS]

DOCUMENTS.jsonl has a `document` per line, such as prepared/sample/test/texts.jsonl. At most 40 of them are asked for,
with `mode: extractive`, and every answer is compared with the Python API. Printed are answers, wrong ones, lost ones,
percentiles of the time, and memory of the service before and after.
"""

import gzip
import http.client
import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from statistics import quantiles

from sumpool import Summarizer

HOSTILE = ("wrong type", "50 MB", "slow", "disconnects", "gzip bomb", "no JSON")


class Load:
    """Clients of one service, and the count of what they got."""

    def __init__(self, port: int, expected: dict[str, str]) -> None:
        self.port = port
        self.expected = expected
        self.counts: Counter[str] = Counter()
        self.seconds: list[float] = []
        self._lock = threading.Lock()

    def run(self, clients: int, seconds: float, hostile: bool) -> None:
        """Let clients ask one after the other until time is over."""
        end = time.monotonic() + seconds
        threads = [threading.Thread(target=self._client, args=(number, end, hostile)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, number: int, end: float, hostile: bool) -> None:
        draw = random.Random(number)
        while time.monotonic() < end:
            if hostile and draw.random() < 0.1:
                self._add(self._attack(draw.choice(HOSTILE)))
            else:
                self._ask(draw.choice(list(self.expected)))

    def _add(self, outcome: str) -> None:
        with self._lock:
            self.counts[outcome] += 1

    def _ask(self, text: str) -> None:
        start = time.monotonic()
        try:
            status, content = self._post(json.dumps({"text": text, "mode": "extractive"}).encode())
        except OSError as error:
            self._add(f"lost: {type(error).__name__}")
            return
        if status == 429:
            self._add("refused, full")
            time.sleep(0.5)
            return
        if status != 200 or json.loads(content)["summaries"][0]["text"] != self.expected[text]:
            self._add(f"WRONG: {status}")
            return
        with self._lock:
            self.counts["right"] += 1
            self.seconds.append(time.monotonic() - start)

    def _post(self, body: bytes, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            connection.request("POST", "/v1/summaries", body, {"Content-Type": "application/json", **headers})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _attack(self, kind: str) -> str:
        try:
            match kind:
                case "wrong type":
                    status, _ = self._post(b'{"text": {"a": []}}')
                case "50 MB":
                    status, _ = self._post(bytes(50 * 10**6))
                case "gzip bomb":
                    status, _ = self._post(gzip.compress(bytes(10**7)), **{"Content-Type": "application/octet-stream"})
                case "no JSON":
                    status, _ = self._post(b"\xff{]")
                case _:
                    status = self._break_off(kind)
        except OSError:
            return f"hostile, {kind}: connection closed"
        return f"hostile, {kind}: {status}"

    def _break_off(self, kind: str) -> int:
        """Send half of a body, or leave without reading the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        body = json.dumps({"text": next(iter(self.expected))}).encode()
        connection.putrequest("POST", "/v1/summaries")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body[: len(body) // 2] if kind == "slow" else body)
        try:
            return connection.getresponse().status if kind == "slow" else 0
        finally:
            connection.close()


def memory(process: int) -> float:
    """Resident memory of a process, MB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def main(documents: str, clients: str = "200", seconds: str = "120") -> None:
    """Measure one client, then many."""
    texts = [json.loads(line)["document"] for line in Path(documents).read_text().splitlines()[:40]]
    summarizer = Summarizer.load("sumpool/shipped")
    expected = {text: summarizer.summarize(text, mode="extractive").text for text in texts}
    command = [sys.executable, "-m", "sumpool", "serve", "--model", "sumpool/shipped", "--port", "0", "--queue", "1000"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
        assert service.stderr
        port = int(service.stderr.readline().rstrip("/\n").rpartition(":")[2])
        for name, count, hostile in (("one client", 1, False), (f"{clients} clients", int(clients), True)):
            load, before, start = Load(port, expected), memory(service.pid), time.monotonic()
            load.run(count, float(seconds), hostile)
            elapsed = time.monotonic() - start
            cuts = quantiles(load.seconds, n=100) if len(load.seconds) > 1 else [float("nan")] * 99
            sys.stdout.write(
                f"{name}: {len(load.seconds) / elapsed:.2f} summaries/s, p50 {cuts[49]:.2f} s, p99 {cuts[98]:.2f} s; "
                f"memory {before:,.0f} MB before, {memory(service.pid):,.0f} MB after; {dict(load.counts)}\n"
            )
            sys.stdout.flush()
        service.terminate()


if __name__ == "__main__":
    main(*sys.argv[1:])
