"""Parallel map over worker processes: results in task order, bounded memory, immediate interruption.

A pool of the standard library reads all tasks in advance, waits forever for a killed worker, and leaves its workers
running if it is killed itself.
"""

import operator
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle, islice
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.util import Finalize
from queue import SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

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
    with _started(build, workers) as pool:
        busy: deque[Worker[Task, Result]] = deque()
        for worker, task in zip(islice(cycle(pool), _TASKS_PER_WORKER * workers), tasks, strict=False):
            worker.send(task)
            busy.append(worker)
        while busy:
            worker = busy.popleft()
            yield worker.receive(check)
            for task in islice(tasks, 1):
                worker.send(task)
                busy.append(worker)


class OrderedMap(Protocol):
    """Function such as `ordered_map`, which decides where tasks are executed."""

    def __call__(
        self, build: Callable[[], Callable[[Task], Result]], tasks: Iterable[Task], workers: int, check: Check, /
    ) -> Generator[Result]:
        """Execute tasks and yield their results in order; parameters and errors as those of `ordered_map`."""


def caller() -> Callable[[Callable[[], Any]], Any]:
    """Return `operator.call`, for an `ordered_map` over functions without arguments."""
    return operator.call


class Worker(Generic[Task, Result]):
    """A worker process and the parent's end of its pipe; it ends with this object, and with its parent."""

    def __init__(self, build: Callable[[], Callable[[Task], Result]]) -> None:
        """Start the process, which calls `build`, importable (spawn), when its first task comes."""
        context = get_context("spawn")
        self._pipe, worker_pipe = context.Pipe()
        self._process: SpawnProcess = context.Process(target=_serve, args=(build, worker_pipe), daemon=True)
        with _blocked_signals():
            self._process.start()
        worker_pipe.close()  # so that the parent's end reports when the process ends
        # At the end of the parent, too: there multiprocessing would wait forever, as its SIGTERM is blocked.
        self._end = Finalize(self, _end, (self._process, self._pipe), exitpriority=0)

    def send(self, task: Task) -> None:
        """Queue a task, which is pickled."""
        with suppress(OSError):  # a dead worker is reported by `receive`
            self._pipe.send(task)

    def receive(self, check: Check) -> Result:
        """Wait for the result of the oldest task; `check` is called meanwhile, and errors of the task are raised.

        Raises:
            ResourceError: If the process was killed.
        """
        while not self._pipe.poll(_POLL_SECONDS):
            check()
        try:
            succeeded, value = self._pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join(1)
            raise ResourceError(
                f"a worker process must finish its tasks, got exit code {self._process.exitcode}; "
                "memory may have run out: close other programs or use fewer workers (data.workers, --jobs)"
            ) from error
        check()
        if not succeeded:
            raise value
        result: Result = value
        return result

    def stop(self) -> None:
        """Kill the process."""
        self._end()


def _end(process: SpawnProcess, pipe: Connection) -> None:
    process.kill()
    process.join()
    pipe.close()


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


@contextmanager
def _started(build: Callable[[], Callable[[Task], Result]], workers: int) -> Iterator[list[Worker[Task, Result]]]:
    pool: list[Worker[Task, Result]] = []
    try:
        for _ in range(workers):
            pool.append(Worker(build))
        yield pool
    finally:
        for worker in pool:
            worker.stop()


def _serve(build: Callable[[], Callable[[Any], Any]], pipe: Connection) -> None:
    """Execute tasks until the parent closes its end of the pipe."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    tasks = SimpleQueue[tuple[Any] | None]()
    threading.Thread(target=_receive_tasks, args=(pipe, tasks), daemon=True).start()
    function = None
    while (task := tasks.get()) is not None:
        try:
            function = function or build()
            answer = True, function(*task)
        except Exception as error:
            answer = False, error
        pipe.send(answer)


def _receive_tasks(pipe: Connection, tasks: "SimpleQueue[tuple[Any] | None]") -> None:
    """Queue tasks as they come, then None.

    Tasks are received while an answer is sent; otherwise two processes that send more than a pipe holds would wait for
    each other forever.
    """
    with suppress(EOFError, OSError):
        while True:
            tasks.put((pipe.recv(),))
    tasks.put(None)


def _exit_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "a worker has a parent"
    parent.join()
    os._exit(1)
