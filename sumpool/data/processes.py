"""Work spread over processes: results in the order of the tasks, little of it in memory, and stopped at once.

A pool of the standard library reads all its tasks ahead, waits for ever for a worker that was killed, and leaves its
workers behind when it is killed itself.
"""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle, islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Generic, TypeVar

from sumpool.errors import ResourceError
from sumpool.interruption import Check

Task = TypeVar("Task")
Result = TypeVar("Result")

_AHEAD = 2
"""Tasks that a worker has at a time: the next one waits while the result of the last one travels."""
_POLL = 0.05
"""Seconds between looks for a signal while a result is awaited."""


def ordered_map(
    build: Callable[[], Callable[[Task], Result]], tasks: Iterable[Task], workers: int, check: Check
) -> Generator[Result]:
    """Do tasks in processes of their own and give the results in order.

    Args:
        build: Makes the function that does a task, once in each process; both must be importable (spawn).
        tasks: What to do; small things, such as places in a file. Read only as fast as results are taken.
        workers: Processes; 0 does everything in this one.
        check: Called while a result is awaited; what it raises stops all workers.

    Raises:
        ResourceError: If a process was killed, as happens when memory runs out.
    """
    if not workers:
        yield from _checked(map(build(), tasks), check)
        return
    tasks = iter(tasks)
    with _started(build, workers) as pool:
        waiting: deque[_Worker[Task, Result]] = deque()
        for worker, task in zip(islice(cycle(pool), _AHEAD * workers), tasks, strict=False):
            worker.give(task)
            waiting.append(worker)
        while waiting:
            worker = waiting.popleft()
            yield worker.take(check)
            for task in islice(tasks, 1):
                worker.give(task)
                waiting.append(worker)


def call(work: Callable[[], Result]) -> Result:
    """Do a task that is itself a function without arguments."""
    return work()


def caller() -> Callable[[Callable[[], Any]], Any]:
    """Build `call`: for `ordered_map` over different functions."""
    return call


class _Worker(Generic[Task, Result]):
    """A process and this end of its pipe."""

    def __init__(self, build: Callable[[], Callable[[Task], Result]]) -> None:
        context = get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process: SpawnProcess = context.Process(target=_serve, args=(build, other), daemon=True)
        # A terminal sends Ctrl-C to everybody and the parent decides. A mask is inherited, so there is no moment in
        # which a young worker dies of it.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        other.close()  # so that this end sees when the process is gone

    def give(self, task: Task) -> None:
        with suppress(OSError):  # a process that is gone is noticed when its result is awaited
            self._pipe.send(task)

    def take(self, check: Check) -> Result:
        while not self._pipe.poll(_POLL):
            check()
        try:
            done, value = self._pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join(1)
            raise ResourceError(
                f"a worker process must live until its work is done, got exit code {self._process.exitcode}; "
                "memory may have run out: close other programs or set fewer workers"
            ) from error
        check()
        if not done:
            raise value
        result: Result = value
        return result

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


@contextmanager
def _started(build: Callable[[], Callable[[Task], Result]], workers: int) -> Iterator[list[_Worker[Task, Result]]]:
    pool: list[_Worker[Task, Result]] = []
    try:
        for _ in range(workers):
            pool.append(_Worker(build))
        yield pool
    finally:
        for worker in pool:
            worker.stop()


def _serve(build: Callable[[], Callable[[Any], Any]], pipe: Connection) -> None:
    """Do one task after another until the other end is closed."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    work = None
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            work = work or build()
            answer = True, work(task)
        except Exception as error:
            answer = False, error
        pipe.send(answer)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "a worker has a parent"
    parent.join()
    os._exit(1)


def _checked(results: Iterator[Result], check: Check) -> Iterator[Result]:
    for result in results:
        check()
        yield result
