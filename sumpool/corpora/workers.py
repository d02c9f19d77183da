"""Parts of a task on the workers of a Ray cluster; a part whose worker dies is done again by another one."""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, cast

from sumpool.corpora.cluster import Cluster, Resources, connect, divide_resources
from sumpool.data.processes import ordered_map
from sumpool.errors import ResourceError
from sumpool.progress import Check, Progress, Report, no_op

MAX_DEATHS: Final = 5
"""Workers that may die over one part before it is given up."""

Part = TypeVar("Part")
Result = TypeVar("Result")


@dataclass(frozen=True)
class ClusterTask(Generic[Part, Result]):
    """Task that is divided into parts.

    Attributes:
        build: Returns the function that does a part, given the cores of a worker; called once per worker, where its
            errors are answers. An importable function.
        verb: What is done with the parts, for messages ("summarise").
        name: Name of the progress.
        advice: What to do once the cluster is lost.
        in_order: Whether results are given in the order of the parts, instead of as they come.
        uses_gpus: Whether workers use GPUs if there are any.
    """

    build: Callable[[int], Callable[[Part], Result]]
    verb: str
    name: str
    advice: str
    in_order: bool = False
    uses_gpus: bool = True


@dataclass(frozen=True)
class NumberedPart(Generic[Part]):
    """Part with its position among all; opaque to Ray, which would take a tuple for a column of its own."""

    number: int
    part: Part


@dataclass(frozen=True)
class Answer(Generic[Result]):
    """Result of a part, or the error that stops the command."""

    number: int
    result: Result | None = None
    error: Exception | None = None


class PartWorker(Generic[Part, Result]):
    """Worker that does parts; Ray builds one per process."""

    def __init__(self, build: Callable[[int], Callable[[Part], Result]], directory: Path, cores: int) -> None:
        """Save what builds the function; it is called for the first part, where its errors are answers."""
        self._build, self._directory, self._cores = build, directory, cores

    @cached_property
    def _execute(self) -> Callable[[Part], Result]:
        try:
            os.chdir(self._directory)  # relative names of files begin in that of the command
        except OSError as error:
            raise ResourceError(
                f"{self._directory} must be a folder on all machines of the cluster, got: {error}"
            ) from error
        return self._build(self._cores)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Answer[Result]]]:
        """Do the parts of a batch; results, or errors that stop the command."""
        return {"answer": [self._answer(numbered) for numbered in batch["part"]]}

    def _answer(self, numbered: NumberedPart[Part]) -> Answer[Result]:
        try:
            return Answer(numbered.number, self._execute(numbered.part))
        except Exception as error:
            return Answer(numbered.number, error=error)


def execute_parts(
    parts: Sequence[Part],
    task: ClusterTask[Part, Result],
    cluster: Cluster,
    *,
    report: Report = no_op,
    check: Check = no_op,
) -> Generator[tuple[int, Result]]:
    """Do parts on a cluster.

    A part whose worker dies is done again by another one, up to `MAX_DEATHS` times. Ray runs in a process of its own,
    which it ends without a message when it is left while it works.

    Args:
        parts: The parts.
        task: What is done with them.
        cluster: The cluster.
        report: Called with a note on the workers.
        check: Called while waiting for a result.

    Yields:
        Positions of parts and their results; none for a part that is given up.

    Raises:
        SumpoolError: What a worker raised.
        ResourceError: If the cluster cannot be reached, or is lost.
    """
    start = partial(_start, parts, task, cluster, Path.cwd())
    with closing(ordered_map(start, repeat(None), 1, check)) as answers:
        try:
            for answer in answers:
                if answer is None:
                    return
                if isinstance(answer, Answer):
                    yield answer.number, cast(Result, answer.result)
                else:
                    report(Progress(task.name, note=answer))
        except ResourceError as error:
            if error.__cause__ is None:  # not the end of the process
                raise
            raise ResourceError(
                f"Ray must work until all parts are done, but it ended; {cluster.log} has why; {task.advice}"
            ) from error


def _start(
    parts: Sequence[Part], task: ClusterTask[Part, Result], cluster: Cluster, directory: Path
) -> Callable[[None], Answer[Result] | str | None]:
    """Connect to the cluster and return the function that waits for the next result, or a note; None after the last."""
    connect(cluster)
    resources = divide_resources(cluster.workers, uses_gpus=task.uses_gpus)
    gpu = ", and a GPU" if resources.gpus else ""
    note = f"parts to {task.verb}: {len(parts):,}; workers: {resources.workers:,}, cores of each: {resources.cores:,}"
    answers: Iterator[Answer[Result] | str] = chain([note + gpu], _answers(parts, task, directory, resources))
    return lambda _: next(answers, None)


def _answers(
    parts: Sequence[Part], task: ClusterTask[Part, Result], directory: Path, resources: Resources
) -> Iterator[Answer[Result]]:
    from ray import data

    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    context.max_errored_blocks = -1
    context.execution_options.preserve_order = task.in_order
    items = [{"part": NumberedPart(number, part)} for number, part in enumerate(parts)]
    results = data.from_items(items, override_num_blocks=len(items)).map_batches(
        PartWorker,
        batch_size=1,
        fn_constructor_args=(task.build, directory, resources.cores),
        compute=data.ActorPoolStrategy(size=min(resources.workers, len(items)), max_tasks_in_flight_per_actor=1),
        num_cpus=resources.cores,
        num_gpus=resources.gpus or None,
        max_restarts=-1,
        max_task_retries=MAX_DEATHS - 1,
    )
    for batch in results.iter_batches(batch_size=None, prefetch_batches=0):  # each part as soon as it is done
        for answer in batch["answer"]:
            if answer.error:
                raise answer.error
            yield answer
