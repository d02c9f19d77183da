import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from sumpool.data.processes import caller, ordered_map
from sumpool.errors import DataError, Interrupted, ResourceError
from sumpool.progress import no_op


def slow_square(task: int) -> int:
    sum(range(task % 3 * 300_000))  # so that tasks do not end in their order
    return task**2


def squares(count: int) -> list[Callable[[], int]]:
    return [partial(slow_square, task) for task in range(count)]


def fail() -> None:
    raise DataError("task must not be 3, got 3")


def build_nothing() -> Callable[[int], int]:
    raise DataError("nothing can be built")


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for_ever() -> None:
    signal.pause()


def ignored_signals() -> list[bool]:
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    return [number in blocked for number in (signal.SIGINT, signal.SIGTERM)]


def test_results_are_in_task_order() -> None:
    for workers in [0, 1, 3]:
        assert list(ordered_map(caller, squares(10), workers, no_op)) == [task**2 for task in range(10)]


def test_tasks_are_read_lazily() -> None:
    tasks = iter(squares(100))
    results = ordered_map(caller, tasks, 1, no_op)
    next(results)
    next(results)
    assert len(list(tasks)) == 97  # two are queued for the worker


def stop_waiting(*_: object) -> None:
    raise TimeoutError


def test_tasks_and_results_may_exceed_a_pipe() -> None:
    """Without a thread that receives, parent and worker would both wait in `send`."""
    tasks = [bytes([number]) * 2**21 for number in range(8)]
    previous = signal.signal(signal.SIGALRM, stop_waiting)
    signal.alarm(60)
    try:
        assert list(ordered_map(caller, [partial(bytes, task) for task in tasks], 2, no_op)) == tasks
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def test_errors_are_raised_in_the_parent() -> None:
    for workers in [0, 2]:
        results = ordered_map(caller, [*squares(3), fail, *squares(9)], workers, no_op)
        assert [next(results) for _ in range(3)] == [0, 1, 4]
        with pytest.raises(DataError, match="task must not be 3, got 3"):
            next(results)
    with pytest.raises(DataError, match="nothing can be built"):
        list(ordered_map(build_nothing, range(3), 1, no_op))


def test_killed_worker_is_an_error() -> None:
    with pytest.raises(ResourceError, match="a worker process must finish its tasks, but one has ended"):
        list(ordered_map(caller, [kill_itself] * 4, 1, no_op))


@pytest.mark.parametrize("workers", [0, 1])
def test_check_stops_all_workers(workers: int) -> None:
    def check() -> None:
        raise Interrupted(signal.SIGINT)

    with pytest.raises(Interrupted):
        list(ordered_map(caller, [wait_for_ever if workers else ignored_signals], workers, check))


def test_workers_block_signals() -> None:
    assert list(ordered_map(caller, [ignored_signals], 1, no_op)) == [[True, True]]
    assert ignored_signals() == [False, False]


def test_the_first_worker_of_a_process_blocks_signals_and_ends_with_it() -> None:
    """The resource tracker of multiprocessing, which starts with it, unblocks them; nobody closes the pool."""
    program = (
        "from sumpool.data.processes import WorkerPool, caller\n"
        "from test_processes import ignored_signals\n"
        "if __name__ == '__main__':\n"
        "    pool = WorkerPool(caller, 1)\n"
        "    print(pool.result(pool.submit(ignored_signals), lambda: None))\n"
    )
    with start_python(program) as process:
        assert process.communicate(timeout=60)[0] == "[True, True]\n"


def start_python(program: str) -> "subprocess.Popen[str]":
    """Run a program that may import this module."""
    path = os.pathsep.join([str(Path.cwd()), str(Path(__file__).parent)])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment)


def test_workers_exit_with_their_parent() -> None:
    program = (
        "from sumpool.data.processes import caller, ordered_map\n"
        "from test_processes import report_and_wait\n"
        "if __name__ == '__main__':\n"
        "    list(ordered_map(caller, [report_and_wait], 1, lambda: None))\n"
    )
    with start_python(program) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "here\n"
        parent.kill()
        assert parent.stdout.read() == ""  # closed by the worker, too


def report_and_wait() -> None:
    sys.stdout.write("here\n")
    sys.stdout.flush()
    signal.pause()
