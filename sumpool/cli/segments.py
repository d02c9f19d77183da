"""Segments of a text on the terminal: in alternating colours, or between bars where there are no colours."""

import os
import sys
from collections.abc import Sequence
from itertools import cycle
from typing import TextIO

from sumpool.text.escaping import escape

_STYLES = ("\x1b[30;46m", "\x1b[30;43m")
"""Black on cyan, and black on yellow: spaces are seen, and the text is read on dark and on light terminals."""
_RESET = "\x1b[0m"
_BAR = "|"


def mark_segments(segments: Sequence[str], colours: bool) -> str:
    """Mark the segments of a text, which is escaped: none of its characters changes the terminal.

    Args:
        segments: Consecutive segments.
        colours: Whether neighbours differ in colour; otherwise a bar stands between them.
    """
    texts = [escape(segment) for segment in segments]
    if not colours:
        return _BAR.join(texts)
    return "".join(_colour(text, style) for text, style in zip(texts, cycle(_STYLES), strict=False))


def shows_colours(stream: TextIO | None = None) -> bool:
    """Return whether a stream, stdout by default, is a terminal with colours and `NO_COLOR` is not set."""
    stream = stream or sys.stdout
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _colour(text: str, style: str) -> str:
    """Colour each line by itself, so that no colour fills the rest of a line."""
    return "\n".join(f"{style}{line}{_RESET}" if line else "" for line in text.split("\n"))
