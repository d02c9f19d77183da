"""What a person sees while a command works: progress and notes on stderr, results on stdout, nothing read as markup."""

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from sumpool.cli.text import figure, inert
from sumpool.progress import Progress

LOG_EVERY = 10.0
"""Seconds between two lines of one task in a plain log."""
ENOUGH = 0.02
"""Share of a task after which its end can be foreseen."""


class Screen(ABC):
    """Where the progress of a command goes."""

    @abstractmethod
    def report(self, progress: Progress) -> None:
        """Show a moment of long work."""

    @abstractmethod
    def result(self, text: str) -> None:
        """Write a result to stdout, at once."""

    @abstractmethod
    def close(self) -> None:
        """Leave the terminal tidy."""


@final
class Terminal(Screen):
    """One bar per task at the foot of the terminal; notes scroll above."""

    def __init__(self) -> None:
        self._bars = Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[metrics]}", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            redirect_stdout=False,  # it would send the results of `sumpool ... > file` to stderr
            redirect_stderr=False,
        )
        self._tasks: dict[str, int] = {}
        self._bars.start()

    def report(self, progress: Progress) -> None:
        """Move the task's bar."""
        if progress.note:
            self._print(progress.note)
        if progress.note and not progress.done and progress.total is None:
            return
        metrics = "  ".join(f"{name} {figure(value)}" for name, value in progress.metrics.items())
        if progress.task not in self._tasks:
            self._finish_vague_tasks()
            self._tasks[progress.task] = self._bars.add_task(inert(progress.task), total=None, metrics="")
        task = self._bars.tasks[self._tasks[progress.task]]
        if progress.done < task.completed:  # the same work begins again, for another run
            self._bars.reset(task.id)
        self._bars.update(
            task.id, completed=progress.done, total=progress.total, metrics=metrics or task.fields["metrics"]
        )

    def _finish_vague_tasks(self) -> None:
        """Still the bars of tasks that never said how far they were: the next task has begun."""
        for task in self._bars.tasks:
            if task.total is None and not task.completed:
                self._bars.update(task.id, total=1, completed=1)

    def result(self, text: str) -> None:
        """Write above the bars if stdout is the terminal too."""
        if sys.stdout.isatty():
            self._print(text)
        else:
            _write(text)

    def close(self) -> None:
        """Leave the bars as they stand."""
        self._bars.stop()

    def _print(self, text: str) -> None:
        self._bars.console.print(inert(text), markup=False, highlight=False, soft_wrap=True)


@final
class Log(Screen):
    """Lines with the time of day; a task speaks every ten seconds and when it is done."""

    def __init__(self) -> None:
        self._spoken: dict[str, tuple[float, int]] = {}
        self._started: dict[str, tuple[float, int]] = {}
        self._pending: dict[str, Progress] = {}

    def report(self, progress: Progress) -> None:
        """Write a line if it is time for one."""
        if progress.note:
            self._line(progress.note)
        if progress.total is None and not progress.done:
            if not progress.note and progress.task not in self._started:
                self._started[progress.task] = time.monotonic(), 0
                self._line(f"{progress.task} ...")
            return
        now = time.monotonic()
        if progress.done < self._spoken.get(progress.task, (now, 0))[1]:  # it begins again, for another run
            del self._spoken[progress.task], self._started[progress.task]
        self._started.setdefault(progress.task, (now, progress.done))
        spoken, done = self._spoken.setdefault(progress.task, (now, -1))
        if progress.done == done:
            return
        self._pending[progress.task] = progress
        if now - spoken >= LOG_EVERY or progress.done == progress.total:
            self._speak(progress.task)

    def result(self, text: str) -> None:
        """Write to stdout."""
        _write(text)

    def close(self) -> None:
        """Write what every unfinished task reached."""
        for task in list(self._pending):
            self._speak(task)

    def _speak(self, task: str) -> None:
        progress = self._pending.pop(task)
        now = time.monotonic()
        self._spoken[task] = now, progress.done
        words = [task, f"{progress.done:,}" + (f"/{progress.total:,}" if progress.total is not None else "")]
        words += [f"{name} {figure(value)}" for name, value in progress.metrics.items()]
        began, first = self._started[task]
        moved = progress.done - first
        if progress.total is not None and moved >= progress.total * ENOUGH and 0 < progress.done < progress.total:
            left = (now - began) / moved * (progress.total - progress.done)
            words.append(f"{left / 60:.0f} min left" if left > 90 else f"{left:.0f} s left")
        self._line("  ".join(words))

    def _line(self, text: str) -> None:
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {inert(text)}\n")
        sys.stderr.flush()


@contextmanager
def screen() -> Iterator[Screen]:
    """Show progress for the length of a command: bars on a terminal, a log anywhere else."""
    shown = Terminal() if Console(stderr=True).is_terminal else Log()
    try:
        yield shown
    finally:
        shown.close()


def _write(text: str) -> None:
    sys.stdout.write(f"{inert(text)}\n")
    sys.stdout.flush()
