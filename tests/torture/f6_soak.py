"""A service that four clients ask for hours: two by `python -m tests.torture F6`, four minutes with `--scale 0.033`."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tests.conftest import story
from tests.torture.f5_hostile_clients import ask, serving
from tests.torture.figures import Measured, memory

ID: Final = "F6"
FIGURE: Final = "four clients that ask without a pause: least memory in the last fifth within 5 % of that in the second"
NIGHT: Final = 7200
QUICK: Final = 0
_CLIENTS = 4


def measure(count: int, folder: Path) -> Measured:
    """Ask for `count` seconds for summaries of texts, as JSON and as HTML, of 10 to 1,000 sentences."""
    with serving(folder) as (port, process):
        ended = threading.Event()
        samples: list[float] = []

        def client(seed: int) -> tuple[int, int]:
            draw, right, asked = random.Random(seed), 0, 0
            while not ended.is_set():
                text = story(draw.randrange(1000), draw.choice((10, 20, 40, 80, 1000)))
                content = {"text": text} if draw.random() < 0.7 else f"<html><p>{text}</p></html>"
                right += isinstance(answer := ask(port, content), str) and bool(answer)
                asked += 1
            return right, asked

        with ThreadPoolExecutor(_CLIENTS) as clients:
            counts = [clients.submit(client, seed) for seed in range(_CLIENTS)]
            end = time.monotonic() + count
            while time.monotonic() < end:
                samples.append(memory(process.pid))
                time.sleep(0.2)
            ended.set()
        right, asked = (sum(column) for column in zip(*(each.result() for each in counts), strict=True))
    fifth = len(samples) // 5
    # What stays: the least of each fifth, between the peaks of long texts.
    early, late = min(samples[fifth : 2 * fifth]), min(samples[-fifth:])
    text = f"{right:,} of {asked:,} answered; {early:.0f} MB, then {late:.0f} MB, at most {max(samples):.0f} MB"
    return Measured(text, right == asked and late <= 1.05 * early, count)
