"""Parallel map over a ProcessPoolExecutor: results in task order, bounded memory, immediate interruption.

Workers hold the reading end of a pipe, and end when its writing end is closed: by the end of the map, or with the
process that has called it, however that ends.
"""

import operator
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from itertools import islice
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

from sumpool.errors import ResourceError
from sumpool.progress import Check

Task = TypeVar("Task")
Result = TypeVar("Result")

_TASKS_PER_WORKER = 2
"""Tasks queued per worker, so that a worker does not idle while its last result is transferred."""
_POLL_SECONDS = 0.05
"""Interval between checks for a signal while waiting for a result."""


def ordered_map(
    build: Callable[[], Callable[[Task], Result]], tasks: Iterable[Task], workers: int, check: Check
) -> Generator[Result]:
    """Execute tasks in worker processes and yield their results in order.

    Args:
        build: Returns the function that executes a task; called once per process. Both must be importable (spawn).
        tasks: Tasks, pickled and read only as fast as results are consumed.
        workers: Number of processes; 0 executes the tasks in the calling process.
        check: Called while waiting for a result; an exception stops all workers.

    Raises:
        ResourceError: If a worker was killed, as by the kernel if memory runs out.
    """
    if not workers:
        for result in map(build(), tasks):
            check()
            yield result
        return
    tasks = iter(tasks)
    with closing(WorkerPool(build, workers)) as pool:
        queued = deque(map(pool.submit, islice(tasks, _TASKS_PER_WORKER * workers)))
        while queued:
            yield pool.result(queued.popleft(), check)
            queued.extend(map(pool.submit, islice(tasks, 1)))


def caller() -> Callable[[Callable[[], Any]], Any]:
    """Return `operator.call`, for an `ordered_map` over functions without arguments."""
    return operator.call


class WorkerPool(Generic[Task, Result]):
    """Worker processes that end when the pool is closed, or with the process that has opened it."""

    def __init__(self, build: Callable[[], Callable[[Task], Result]], workers: int) -> None:
        """Prepare the processes, each of which calls `build`, importable (spawn), for its first task."""
        context = get_context("spawn")
        self._reader, self._writer = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(workers, context, initializer=_initialize, initargs=(build, self._reader))

    def submit(self, task: Task) -> "Future[Result]":
        """Queue a task, which is pickled.

        Raises:
            ResourceError: If a process was killed.
        """
        with _explained(), _blocked_signals():  # it may start a process
            return self._pool.submit(_execute, task)

    def result(self, future: "Future[Result]", check: Check) -> Result:
        """Wait for a result; `check` is called meanwhile, and errors of the task are raised.

        Raises:
            ResourceError: If a process was killed.
        """
        while not future.done():
            wait([future], _POLL_SECONDS)
            check()
        check()
        with _explained():
            return future.result()

    def close(self) -> None:
        """End the processes at once."""
        self._writer.close()
        self._pool.shutdown(cancel_futures=True)
        self._reader.close()


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except BrokenProcessPool as error:
        raise ResourceError(
            "a worker process must finish its tasks, but one has ended; "
            "memory may have run out: close other programs or use fewer workers (data.workers, --jobs)"
        ) from error


@contextmanager
def _blocked_signals() -> Iterator[None]:
    """Block SIGINT and SIGTERM in the block and, by inheritance, in the processes that it starts.

    A terminal sends SIGINT to all processes, but only the parent handles it. Windows has no signal masks.
    """
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # its start, with that of the first worker, would unblock them
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


class _Worker:
    """What this worker process executes tasks with; built for the first task, so that an error is that of a task."""

    build: Callable[[], Callable[[Any], Any]]
    function: Callable[[Any], Any] | None = None


def _initialize(build: Callable[[], Callable[[Any], Any]], parent: Connection) -> None:
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
    _Worker.build = staticmethod(build)


def _exit_with_parent(parent: Connection) -> None:
    with suppress(EOFError, OSError):
        parent.recv_bytes()
    os._exit(1)


def _execute(task: Any) -> Any:  # noqa: ANN401 - of the function that is built
    _Worker.function = _Worker.function or _Worker.build()
    return _Worker.function(task)
