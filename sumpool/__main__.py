"""Entry point of `sumpool` and `python -m sumpool`: answers signals before anything slow is imported."""

import atexit
import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType

_STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
_SPINS = "1000"
"""Iterations that a thread of torch (libgomp) spins for others before it sleeps. With the 300,000 of the library, one
whose core another process takes holds up the others at every operation."""
_LONG_COMMANDS = {"train", "bench", "study"}
"""Commands that have a machine to themselves, where threads that sleep cost a tenth to a third of the speed."""


def main() -> None:
    """Run the command line."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    command = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    if "OMP_WAIT_POLICY" not in os.environ and command not in _LONG_COMMANDS:
        os.environ.setdefault("GOMP_SPINCOUNT", _SPINS)  # read once, when torch is imported
    from sumpool.cli.app import main as run

    try:
        run()
    except SystemExit as end:
        if end.code not in _STOPPED:
            if "torch" not in sys.modules or threading.active_count() > 1:  # which the interpreter waits for
                raise
            atexit._run_exitfuncs()
        _flush()
        os._exit(int(end.code or 0))  # the interpreter may take a second to end torch


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _stop(number: int, frame: FrameType | None) -> None:
    """End the process, as nothing has been begun that could be saved; an exception could be swallowed."""
    del frame
    if sys.stderr is not None:
        os.write(2, f"stopped by {signal.Signals(number).name}\n".encode())
    os._exit(128 + number)


if __name__ == "__main__":
    main()
