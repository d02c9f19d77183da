"""Progress of long operations, and their interruption by SIGINT and SIGTERM.

Progress is reported as one value to one callback. The first signal stops at the next safe point, the second at once.
A command does not wait for a safe point that is far away: whatever is saved survives an end at any moment.

The handler of the first signal gives the second one its default action, by which the kernel ends the process: Python
calls handlers only between two instructions of the main thread, and loading libraries of PyTorch is one of .2 to .4 s.
"""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import ClassVar, Final, NoReturn

from sumpool.errors import Interrupted

GRACE: Final = 1.0
"""Seconds in which a command must reach a safe point after a signal, unless it is `finishing`."""
SHORT_GRACE: Final = 0.5
"""Grace of a command that keeps no results, so that it ends within a second of the signal."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_POLL_SECONDS = 0.05

Check = Callable[[], None]
"""Function called at safe points; raises `Interrupted` after a signal was received."""


@dataclass(frozen=True)
class Progress:
    """Progress of an operation at one moment.

    Attributes:
        task: Name of the operation as shown to users ("train", "prepare: tokens").
        done: Completed units.
        total: Total units; None if unknown.
        metrics: Values shown beside the progress bar (loss, tokens per second).
        note: Message that stays on screen; empty if there is none.
    """

    task: str
    done: int = 0
    total: int | None = None
    metrics: Mapping[str, float | str] = field(default_factory=dict)
    note: str = ""


Report = Callable[[Progress], None]
"""Progress callback."""


def no_op(*_: object) -> None:
    """Do nothing; the default progress callback and check."""


class Interruption:
    """Record of a received signal. The handler stores its number only, so that the first one cuts no save in two.

    Attributes:
        number: Number of the received signal; None before the first.
    """

    finishing: ClassVar[int] = 0
    """Number of the `finishing` blocks that are being executed."""

    def __init__(self) -> None:
        self.number: int | None = None

    def check(self) -> None:
        """Stop the work if a signal was received.

        Raises:
            Interrupted: If a signal was received.
        """
        if self.number is not None:
            raise Interrupted(self.number)

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handle the first signal, and give the second one its default action, which ends the process."""
        del frame
        for other in _SIGNALS:
            signal.signal(other, signal.SIG_DFL)
        self.number = number
        _show_cursor()  # nothing could after a second signal


@contextmanager
def interruptible(grace: float) -> Iterator[Interruption]:
    """Record SIGINT and SIGTERM within the block, then restore the previous handlers.

    Args:
        grace: Seconds after which a thread ends the process if the work has not reached a safe point: the handler of a
            signal waits until a call of a library returns.

    Raises:
        Interrupted: If a signal was received: a stopped command does not end with success.
    """
    interruption = Interruption()
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    handlers = {number: signal.signal(number, interruption.note) for number in _SIGNALS}
    before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(target=_watch, args=(receiver, grace), daemon=True)
    watcher.start()
    try:
        yield interruption
        interruption.check()
    finally:
        signal.set_wakeup_fd(before)
        sender.close()
        watcher.join()
        receiver.close()
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def told_when_stopped(consequence: str) -> Iterator[None]:
    """Add the consequence to the message of an interruption.

    Raises:
        Interrupted: If the block raises it.
    """
    try:
        yield
    except Interrupted as stop:
        name = signal.Signals(stop.number).name
        raise Interrupted(stop.number, f"stopped by {name}; {consequence}") from stop


@contextmanager
def finishing() -> Iterator[None]:
    """Wait for the block after a signal, however long it takes: an update and the save after it."""
    Interruption.finishing += 1
    try:
        yield
    finally:
        Interruption.finishing -= 1


def _watch(signals: socket.socket, grace: float) -> None:
    """End the process at a second signal of another number, or if it works on for too long after the first one."""
    first, left = 0, grace
    while left > 0 or Interruption.finishing:
        start = time.monotonic()
        try:
            received = signals.recv(64)
        except TimeoutError:
            left -= 0 if Interruption.finishing else time.monotonic() - start
            continue
        if not received:
            return
        for number in (number for number in received if number in _SIGNALS):
            if first:
                _end(number)
            first = number
            signals.settimeout(_POLL_SECONDS)
    _end(first)


def _end(number: int) -> NoReturn:
    """End the process without waiting for its work."""
    _show_cursor()
    sentence = f"stopped by {signal.Signals(number).name}; what was saved before is kept\n"
    with suppress(OSError):
        os.write(2, sentence.encode())
    os._exit(128 + number)


def _show_cursor() -> None:
    """Show the cursor of a terminal, which progress bars hide."""
    if os.isatty(2):
        with suppress(OSError):
            os.write(2, b"\x1b[?25h")
