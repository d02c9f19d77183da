"""Stopping long work at a safe place: the first signal asks, the second insists."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from sumpool.errors import Interrupted

Check = Callable[[], None]
"""Call it where the work may stop; it raises `Interrupted` once a signal has come."""


def go_on() -> None:
    """The check of work that nobody stops."""


class Interruption:
    """Whether SIGINT or SIGTERM has come; a handler only takes note, so no save is ever cut in two."""

    def __init__(self) -> None:
        self.number: int | None = None

    def check(self) -> None:
        """Raise where work may stop.

        Raises:
            Interrupted: If a signal has come.
        """
        if self.number is not None:
            raise Interrupted(self.number)

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self.number is not None:
            os._exit(128 + number)  # asked twice: the user means now
        self.number = number


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Take note of SIGINT and SIGTERM inside the block, then restore the handlers that were there."""
    interruption = Interruption()
    handlers = {number: signal.signal(number, interruption._note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interruption
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
