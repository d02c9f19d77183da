"""Output of a running command: progress and notes on stderr, results on stdout, nothing interpreted as markup."""

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

from sumpool.cli.text import format_metric, print_message
from sumpool.progress import GRACE, Check, Progress, interruptible
from sumpool.text.cleaning import escape, escape_line

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
            self._finish_indeterminate_tasks()
            self._tasks[progress.task] = self._bars.add_task(escape_line(progress.task), total=None, metrics="")
        task = self._bars.tasks[self._tasks[progress.task]]
        if progress.done < task.completed:  # the same task starts again, for another run
            self._bars.reset(task.id)
        self._bars.update(
            task.id, completed=progress.done, total=progress.total, metrics=metrics or task.fields["metrics"]
        )

    def _finish_indeterminate_tasks(self) -> None:
        """Stop the bars of earlier tasks that never reported a total."""
        for task in self._bars.tasks:
            if task.total is None and not task.completed:
                self._bars.update(task.id, total=1, completed=1)

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
