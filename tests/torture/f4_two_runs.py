"""Two processes that train in one run folder, and a third after the first was killed."""

import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from sumpool.errors import CheckpointError
from sumpool.runs.run_folder import exclusive
from tests.torture.a1_kill_and_resume import PROCESSES
from tests.torture.figures import Measured

ID: Final = "F4"
FIGURE: Final = "two runs in one folder: the second is refused by the process of the first; free once that is killed"
NIGHT: Final = 20
QUICK: Final = 2


def measure(count: int, folder: Path) -> Measured:
    """Hold `count` run folders in a process that is killed."""
    right = 0
    for number in range(count):
        run = folder / str(number)
        run.mkdir()
        receiver, sender = PROCESSES.Pipe(duplex=False)
        holder = PROCESSES.Process(target=hold, args=(run, sender))
        holder.start()
        receiver.recv()
        refusal = _refusal(run)
        holder.kill()
        holder.join()
        is_refused = f"process {holder.pid} is training there" in refusal
        right += is_refused and not _refusal(run) and not list(run.iterdir())
    return Measured(f"{right:,} of {count:,} refused, then free", right == count, count)


def hold(run: Path, ready: Connection) -> None:
    """Lock a run folder, and wait; for a process of its own."""
    with exclusive(run):
        ready.send(os.getpid())
        signal.pause()


def _refusal(run: Path) -> str:
    """Return why a run folder cannot be locked; empty if it can."""
    try:
        with exclusive(run):
            return ""
    except CheckpointError as error:
        return str(error)
