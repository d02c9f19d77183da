"""Tasks of a preparation on the workers of a Ray cluster, as `ordered_map` executes them on one machine."""

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from functools import partial
from typing import Final, TypeVar

from sumpool.corpora.cluster import Cluster
from sumpool.corpora.parts import MAX_PARTS
from sumpool.corpora.workers import MAX_DEATHS, ClusterTask, execute_parts
from sumpool.data.processes import OrderedMap
from sumpool.errors import DataError
from sumpool.progress import Check, Report

PART_TASKS: Final = 8
"""Tasks of a part: spans of 256 kB, one of which takes .1 s, as long as Ray takes to start a part on a busy machine."""

Task = TypeVar("Task")
Result = TypeVar("Result")


def map_on_cluster(cluster: Cluster, report: Report) -> OrderedMap:
    """Return an `ordered_map` whose workers are those of a cluster.

    Its tasks are read in advance. It raises a `DataError` at a part that is given up because its workers die.

    Args:
        cluster: The cluster.
        report: Called with a note on the workers.
    """

    def execute(
        build: Callable[[], Callable[[Task], Result]], tasks: Iterable[Task], workers: int, check: Check
    ) -> Generator[Result]:
        del workers  # those of the cluster
        parts = _divide(tuple(tasks))
        do = partial(_build, build)
        task = ClusterTask(do, "prepare", "prepare", "prepare again", in_order=True, uses_gpus=False)
        done = 0
        with closing(execute_parts(parts, task, cluster, report=report, check=check)) as answers:
            for number, results in answers:
                if number > done:  # the one between is given up
                    break
                done += 1
                yield from results
        if done < len(parts):
            raise DataError(
                f"all {len(parts):,} parts must be prepared, but part {done + 1:,} was given up after {MAX_DEATHS} "
                f"deaths of workers; {cluster.log} has why; prepare again, with fewer --jobs if memory ran out"
            )

    return execute


def _divide(tasks: tuple[Task, ...]) -> list[tuple[Task, ...]]:
    """Group consecutive tasks into parts."""
    size = max(PART_TASKS, -(-len(tasks) // MAX_PARTS))
    return [tasks[start : start + size] for start in range(0, len(tasks), size)]


def _build(build: Callable[[], Callable[[Task], Result]], cores: int) -> Callable[[tuple[Task, ...]], list[Result]]:
    """Return the function that executes the tasks of a part, each on one core."""
    del cores
    execute = build()
    return lambda tasks: [execute(task) for task in tasks]
