"""Output of a running command: progress and notes on stderr, results on stdout, nothing interpreted as markup."""

import os
import re
import shutil
import sys
import textwrap
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import cycle, zip_longest
from typing import final

from sumpool.progress import GRACE, Check, Progress, interruptible
from sumpool.text.cleaning import Bold, escape, escape_line

LOG_INTERVAL = 10.0
"""Seconds between two lines of one task in a plain log."""
MIN_DONE = 0.02
"""Fraction of a task after which its remaining time is estimated."""


class Screen(ABC):
    """Destination of a command's progress and results.

    Attributes:
        check: Called where the work may stop after a signal, within `working`.
    """

    check: Check

    @abstractmethod
    def report(self, progress: Progress) -> None:
        """Show progress."""

    def result(self, text: str) -> None:
        """Write a result to stdout, unbuffered."""
        sys.stdout.write(f"{escape(text)}\n")
        sys.stdout.flush()

    @abstractmethod
    def close(self) -> None:
        """Finish the output."""


@final
class Terminal(Screen):
    """Progress bars at the bottom of a terminal, one per task; notes scroll above them."""

    def __init__(self) -> None:
        # Imported here, as a log needs no bars.
        from rich import console, progress

        self._bars = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[metrics]}", markup=False),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            console=console.Console(stderr=True),
            redirect_stdout=False,  # it would send the results of `sumpool ... > file` to stderr
            redirect_stderr=False,
        )
        self._tasks: dict[str, int] = {}
        self._bars.start()

    def report(self, progress: Progress) -> None:
        """Update the task's bar."""
        if progress.note:
            self._print(escape_line(progress.note))
        if progress.note and not progress.done and progress.total is None:
            return
        metrics = "  ".join(f"{name} {format_metric(value)}" for name, value in progress.metrics.items())
        if progress.task not in self._tasks:
            for earlier in self._bars.tasks:  # which never reported a total
                if earlier.total is None and not earlier.completed:
                    self._bars.update(earlier.id, total=1, completed=1)
            self._tasks[progress.task] = self._bars.add_task(escape_line(progress.task), total=None, metrics="")
        task = self._bars.tasks[self._tasks[progress.task]]
        if progress.done < task.completed:  # the same task starts again, for another run
            self._bars.reset(task.id)
        self._bars.update(
            task.id, completed=progress.done, total=progress.total, metrics=metrics or task.fields["metrics"]
        )

    def result(self, text: str) -> None:
        """Write a result, above the bars if stdout is a terminal."""
        if sys.stdout.isatty():
            self._print(escape(text))
        else:
            super().result(text)

    def close(self) -> None:
        """Stop updating the bars."""
        self._bars.stop()

    def _print(self, text: str) -> None:
        self._bars.console.print(text, markup=False, highlight=False, soft_wrap=True)


@final
class Log(Screen):
    """Plain log with the time of day: a line per task every ten seconds and at its end."""

    def __init__(self) -> None:
        self._logged: dict[str, tuple[float, int]] = {}
        self._started: dict[str, tuple[float, int]] = {}
        self._pending: dict[str, Progress] = {}

    def report(self, progress: Progress) -> None:
        """Write a line if the last one of the task is old enough."""
        if progress.note:
            self._line(progress.note)
        if progress.total is None and not progress.done:
            if not progress.note and progress.task not in self._started:
                self._started[progress.task] = time.monotonic(), 0
                self._line(f"{progress.task} ...")
            return
        now = time.monotonic()
        if progress.done < self._logged.get(progress.task, (now, 0))[1]:  # it starts again, for another run
            del self._logged[progress.task], self._started[progress.task]
        self._started.setdefault(progress.task, (now, progress.done))
        logged, done = self._logged.setdefault(progress.task, (now, -1))
        if progress.done == done:
            return
        self._pending[progress.task] = progress
        if now - logged >= LOG_INTERVAL or progress.done == progress.total:
            self._log(progress.task)

    def close(self) -> None:
        """Write the last progress of every unfinished task."""
        for task in list(self._pending):
            self._log(task)

    def _log(self, task: str) -> None:
        progress = self._pending.pop(task)
        now = time.monotonic()
        self._logged[task] = now, progress.done
        words = [task, f"{progress.done:,}" + (f"/{progress.total:,}" if progress.total is not None else "")]
        words += [f"{name} {format_metric(value)}" for name, value in progress.metrics.items()]
        start, first = self._started[task]
        advanced = progress.done - first
        if progress.total is not None and advanced >= progress.total * MIN_DONE and 0 < progress.done < progress.total:
            left = (now - start) / advanced * (progress.total - progress.done)
            words.append(f"{left / 60:.0f} min left" if left > 90 else f"{left:.0f} s left")
        self._line("  ".join(words))

    def _line(self, text: str) -> None:
        print_message(f"{time.strftime('%H:%M:%S')} {text}")


@contextmanager
def screen() -> Iterator[Screen]:
    """Show progress during a command: bars on a terminal, otherwise a plain log."""
    output = Terminal() if sys.stderr is not None and sys.stderr.isatty() else Log()
    try:
        yield output
    finally:
        output.close()


@contextmanager
def working(grace: float = GRACE) -> Iterator[Screen]:
    """Show progress during a command that a signal stops at a safe point, or after `grace` seconds."""
    with screen() as output, interruptible(grace) as interruption:
        output.check = interruption.check
        yield output


_ITEM = "\n  - "
"""Line feed within a message that lists problems."""

_NAMED = 10
"""Documents that a sentence names."""

_NUMBER = re.compile(r"[-+]?\d|-?$")
"""Cell of a numeric column: a number, or the mark of a missing one."""

_STYLES = ("\x1b[30;46m", "\x1b[30;43m")
"""Black on cyan, and black on yellow: spaces are seen, and the text is read on dark and on light terminals."""
_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_BAR = "|"


def format_metric(value: float | str) -> str:
    """Format a metric with four significant digits: 3.457, 12,034, 0.00012."""
    if isinstance(value, str):
        return escape_line(value)
    return f"{value:,.0f}" if abs(value) >= 1000 or isinstance(value, int) else f"{value:.4g}"


def print_message(sentence: str) -> None:
    """Write an escaped line to stderr, if it can be written; a message may list problems below it."""
    try:
        sys.stderr.write(f"{_ITEM.join(map(escape_line, sentence.split(_ITEM)))}\n")
        sys.stderr.flush()
    except OSError:  # a full disk or a closed terminal takes no result away
        discard_output(2)


def discard_output(descriptor: int = 1) -> None:
    """Send what is still buffered for a stream nowhere, so that the interpreter does not fail to write it later."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def as_json(values: object) -> str:
    """Render dataclasses, or a list of them, as escaped JSON."""
    import json
    from dataclasses import asdict

    return escape(json.dumps(values, ensure_ascii=False, indent=2, default=asdict))


def wrapped(text: str) -> str:
    """Wrap the lines of a Markdown text to the width of the terminal."""
    width = shutil.get_terminal_size().columns
    fill = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(fill(line, subsequent_indent="  " * line.startswith("- ")) for line in text.splitlines())


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", keys: int = 1) -> str:
    """Lay out rows as text: numeric columns aligned right, others left.

    A table wider than a line is split into blocks of columns below each other, and longer cells are wrapped.

    Args:
        columns: Column titles.
        rows: Cells, as many per row as there are titles.
        title: Line above the table; none if empty.
        keys: Leading columns that name a row, repeated in every block.
    """
    cells = [[type(cell)(escape_line(cell)) for cell in column] for column in zip(columns, *rows, strict=True)]
    widths = [max(map(len, column)) for column in cells]
    available = max(20, line_width() - sum(width + 2 for width in widths[:keys]))
    blocks, used = [cells[:keys]], 0
    for column, width in zip(cells[keys:], widths[keys:], strict=True):
        if used and used + width > available:
            blocks.append(cells[:keys])
            used = 0
        blocks[-1] = [*blocks[-1], column]
        used += width + 2
    return (f"{escape_line(title)}\n" if title else "") + "\n\n".join(_block(block, available) for block in blocks)


def _block(columns: Sequence[Sequence[str]], max_width: int) -> str:
    """Lay out columns that fit a line; a row has several lines if a cell is wider than the maximum."""
    lines: list[tuple[str, ...]] = []
    for row in zip(*columns, strict=True):
        wrap_cell = partial(textwrap.wrap, width=max_width, break_on_hyphens=False)
        lines += zip_longest(*(wrap_cell(cell) if len(cell) > max_width else [cell] for cell in row), fillvalue="")
    aligned = [_align(column) for column in zip(*lines, strict=True)]
    head, *body = ("  ".join(cells).rstrip() for cells in zip(*aligned, strict=True))
    rule = "─"
    try:
        rule.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        rule = "-"
    return "\n".join([head, rule * len("  ".join(column[0] for column in aligned)), *body])


def _align(column: Sequence[str]) -> list[str]:
    """Pad title and cells of a column to equal width."""
    width = max(map(len, column))
    right = all(_NUMBER.match(cell) for cell in column[1:])
    padded = [cell.rjust(width) if right else cell.ljust(width) for cell in column]
    if not shows_colours():
        return padded
    return [_colour(text, _BOLD) if isinstance(cell, Bold) else text for cell, text in zip(column, padded, strict=True)]


def wrap(line: str) -> str:
    """Break a line between words to the width of a line; continuation lines are indented."""
    width = line_width()
    return "\n".join(textwrap.wrap(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


def line_width() -> int:
    """Width of printed lines: that of the terminal, at least 80 characters, or 100 without a terminal."""
    return max(80, shutil.get_terminal_size((100, 24)).columns)


def name_documents(ids: Sequence[str], count: int | None = None) -> str:
    """Name documents in a sentence, the first ones if there are many.

    Args:
        ids: Ids of the documents, or of the first of them.
        count: Number of documents; by default that of the ids.
    """
    return ", ".join(ids[:_NAMED]) + (", ..." if (count or len(ids)) > _NAMED else "")


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


def shows_colours() -> bool:
    """Return whether stdout is a terminal with colours and `NO_COLOR` is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _colour(text: str, style: str) -> str:
    """Colour each line by itself, so that no colour fills the rest of a line."""
    return "\n".join(f"{style}{line}{_RESET}" if line else "" for line in text.split("\n"))
