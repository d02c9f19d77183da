"""Progress of long operations, and their interruption by SIGINT and SIGTERM.

Progress is reported as one value to one callback. The first signal stops at the next safe point, the second at once.
"""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from sumpool.errors import Interrupted


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


def silent(progress: Progress) -> None:
    """Discard the progress."""


Check = Callable[[], None]
"""Function called at safe points; raises `Interrupted` after a signal was received."""


def go_on() -> None:
    """Check that never stops the work."""


class Interruption:
    """Record of a received signal. The handler only stores the signal number, so no save is ever cut in two.

    Attributes:
        number: Number of the received signal; None before the first.
    """

    def __init__(self) -> None:
        self.number: int | None = None

    def check(self) -> None:
        """Stop the work if a signal was received.

        Raises:
            Interrupted: If a signal was received.
        """
        if self.number is not None:
            raise Interrupted(self.number)

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self.number is not None:
            os._exit(128 + number)  # second signal: exit without saving
        self.number = number


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Record SIGINT and SIGTERM within the block, then restore the previous handlers."""
    interruption = Interruption()
    handlers = {number: signal.signal(number, interruption._note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interruption
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
