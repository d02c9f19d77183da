"""Standard streams that are closed, or whose encoding lacks characters."""

import codecs
import os
import sys
from io import TextIOWrapper
from typing import Final

from sumpool.errors import RecipeError
from sumpool.text.escaping import escape_characters

READER_GONE: Final = 141
"""Exit code if the reader of standard output has ended, as that of a process stopped by SIGPIPE."""
_NAMES = ("stdin", "stdout", "stderr")


def open_streams() -> None:
    """Replace a closed stderr, and write characters that an encoding lacks as JSON escapes.

    Raises:
        RecipeError: If stdout is closed.
    """
    for descriptor, name in enumerate(_NAMES):
        if getattr(sys, name) is None:
            _reserve(descriptor)  # else the next file that is opened gets the number, and messages
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    codecs.register_error("json", _escape_unencodable)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="json")
    if sys.stdout is None:
        raise RecipeError("standard output must be open, but it is closed: redirect it, such as to /dev/null")


def end_output() -> None:
    """Write what is still buffered for stdout, or discard it where it cannot be written."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        discard_output()


def discard_output() -> None:
    """Send what is still buffered for stdout nowhere, so that the interpreter does not fail to write it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _reserve(descriptor: int) -> None:
    """Open the null device with the number of a closed stream."""
    try:
        os.fstat(descriptor)
    except OSError:
        nowhere = os.open(os.devnull, os.O_RDWR)
        if nowhere != descriptor:
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


def _escape_unencodable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return escape_characters(error.object[error.start : error.end]), error.end
