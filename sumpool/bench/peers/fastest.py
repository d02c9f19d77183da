"""A system of others in the precision that is fastest on this machine, which is measured for each workload."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import final

from sumpool.bench.config import Workload
from sumpool.bench.measures.timing import clock
from sumpool.bench.systems.workload import Contender, Documents

_REPEATS = 2


@final
class FastestPeer(Contender):
    """One of several precisions of a system for each workload, chosen when it is first asked for.

    Weights of a precision that no workload has chosen so far are freed after a trial.
    """

    def __init__(
        self, precisions: Mapping[str, Callable[[], Contender]], trial: Documents, beams: int, tokens: int
    ) -> None:
        """Prepare; nothing is built before it is needed.

        Args:
            precisions: For each precision the function that builds the system, at least one.
            trial: Documents that all of them process.
            beams: Beams of a generation.
            tokens: Tokens of a generation in the trial; steps may be slow in a precision in which encoding is fast.
        """
        self._builds, self._trial, self._beams, self._tokens = precisions, trial, beams, tokens
        self._built: dict[str, Contender] = {}
        self._chosen: dict[Workload, str] = {}

    def precision_of(self, workload: Workload) -> str | None:
        """Precision that was the fastest in a workload; None before it has run."""
        return self._chosen.get(workload)

    def encode(self, documents: Documents) -> object:
        """Encode the documents."""
        return self._fastest("encode", lambda peer: peer.encode(self._trial)).encode(documents)

    def train(self, documents: Documents) -> None:
        """Run forward and backward of one training step."""
        self._fastest("train", lambda peer: peer.train(self._trial)).train(documents)

    def generate(self, documents: Documents, beams: int, tokens: int) -> object:
        """Encode the documents and generate exactly `tokens` tokens for each."""
        fastest = self._fastest("generate", lambda peer: peer.generate(self._trial, self._beams, self._tokens))
        return fastest.generate(documents, beams, tokens)

    def _fastest(self, workload: Workload, work: Callable[[Contender], object]) -> Contender:
        """Return the system in the precision that is fastest in a workload.

        Raises:
            NotImplementedError: If the system does not have the workload.
        """
        if workload not in self._chosen:
            device = self._trial.ids.device
            seconds: dict[str, float] = {}
            for name in self._builds:
                peer = self._peer(name)
                work(peer)  # the first call allocates memory and selects kernels
                seconds[name] = min(clock(partial(work, peer), device) for _ in range(_REPEATS))
            self._chosen[workload] = min(seconds, key=seconds.__getitem__)
            self._built = {name: self._built[name] for name in {*self._chosen.values()}}
        return self._peer(self._chosen[workload])

    def _peer(self, name: str) -> Contender:
        if name not in self._built:
            self._built[name] = self._builds[name]()
        return self._built[name]
