"""A system of others in a process of its own, where its threads do not slow ours.

CTranslate2 keeps threads of an OpenMP of its own beside those of torch: as long as its engine exists, the small
products of a model in the same process take twice as long.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import torch

from sumpool.bench.config import Workload
from sumpool.bench.systems.workload import Contender, Documents
from sumpool.data.processes import Worker
from sumpool.progress import go_on
from sumpool.training.memory import Work


@dataclass(frozen=True)
class _Call:
    """A workload and its arguments; its peak memory is measured if there is a `device`."""

    workload: Workload
    arguments: tuple[Any, ...]
    device: torch.device | None


@dataclass(frozen=True)
class _Answer:
    """Precision of the workload, and its peak memory if that was measured."""

    precision: str | None
    peak: int | None


@final
class PeerProcess(Contender):
    """A contender whose process starts with its first workload, and ends with it."""

    def __init__(self, build: Callable[[], Contender]) -> None:
        """Prepare; `build` is called in the process, and must be importable."""
        self._build = partial(_runner, build)
        self._worker: Worker[_Call, _Answer] | None = None
        self._precisions: dict[Workload, str | None] = {}
        self._device: torch.device | None = None
        self._peak: int | None = None

    def precision_of(self, workload: Workload) -> str | None:
        """Precision of a workload; None before it has run."""
        return self._precisions.get(workload)

    def peak(self, work: Work, device: torch.device) -> int | None:
        """Run `work` and return the peak memory of its workload in the process."""
        self._device = device
        try:
            work()
        finally:
            self._device = None
        return self._peak

    def encode(self, documents: Documents) -> None:
        """Encode the documents."""
        self._run("encode", documents)

    def train(self, documents: Documents) -> None:
        """Run forward and backward of one training step."""
        self._run("train", documents)

    def generate(self, documents: Documents, beams: int, tokens: int) -> None:
        """Encode the documents and generate exactly `tokens` tokens for each."""
        self._run("generate", documents, beams, tokens)

    def _run(self, workload: Workload, *arguments: object) -> None:
        if self._worker is None:
            self._worker = Worker(self._build)
        self._worker.send(_Call(workload, arguments, self._device))
        answer = self._worker.receive(go_on)
        self._precisions[workload], self._peak = answer.precision, answer.peak


def _runner(build: Callable[[], Contender]) -> Callable[[_Call], _Answer]:
    """Build the contender and return what runs its workloads."""
    contender = build()

    def run(call: _Call) -> _Answer:
        work = partial(getattr(contender, call.workload), *call.arguments)
        if call.device is None:
            work()
            peak = None
        else:
            peak = contender.peak(work, call.device)
        return _Answer(contender.precision_of(call.workload), peak)

    return run
