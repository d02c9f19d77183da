"""A contender in a process of its own."""

import gc
import os
import signal
from pathlib import Path

import pytest
import torch

from sumpool.bench.config import Workload
from sumpool.bench.peers.process import PeerProcess
from sumpool.bench.systems.workload import Conditions, Contender, Documents
from sumpool.errors import ResourceError

CPU = torch.device("cpu")
CONDITIONS = Conditions(vocabulary=40, device=CPU, precision=torch.float32)
DOCUMENTS = Documents.random(2, 20, 4, CONDITIONS)
HELD = 64 * 2**20


class Peer(Contender):
    """Says by its precision what it was asked for, and in which process it is; encoding holds some memory."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def precision_of(self, workload: Workload) -> str:
        return f"{os.getpid()} {workload}: {' '.join(self.calls)}"

    def encode(self, documents: Documents) -> None:
        assert torch.equal(documents.ids, DOCUMENTS.ids)
        assert documents.lengths == DOCUMENTS.lengths
        torch.ones(HELD, dtype=torch.uint8)
        self.calls.append("read")

    def train(self, documents: Documents) -> None:
        raise NotImplementedError("it does not learn")

    def generate(self, documents: Documents, beams: int, tokens: int) -> None:
        assert torch.equal(documents.ids, DOCUMENTS.ids)
        if not tokens:
            os.kill(os.getpid(), signal.SIGKILL)
        self.calls.append(f"{beams} {tokens}")


def test_all_workloads_are_of_one_other_process_which_ends_with_the_peer() -> None:
    peer = PeerProcess(Peer)
    assert peer.precision_of("encode") is None
    peer.encode(DOCUMENTS)
    peer.generate(DOCUMENTS, 3, 7)
    process, answer = str(peer.precision_of("generate")).split(" ", 1)
    assert int(process) != os.getpid()
    assert answer == "generate: read 3 7"
    assert peer.precision_of("encode") == f"{process} encode: read"
    assert Path("/proc", process).exists()
    del peer
    gc.collect()
    assert not Path("/proc", process).exists()


def test_peak_memory_is_that_of_the_process_and_errors_are_in_its_words() -> None:
    peer = PeerProcess(Peer)
    peer.encode(DOCUMENTS)
    assert peer.peak(lambda: peer.encode(DOCUMENTS), CPU) == pytest.approx(HELD, rel=0.1)
    assert (peer.peak(lambda: peer.generate(DOCUMENTS, 1, 1), CPU) or 0) < HELD / 2
    with pytest.raises(NotImplementedError, match="it does not learn"):
        peer.train(DOCUMENTS)
    with pytest.raises(NotImplementedError, match="it does not learn"):
        peer.peak(lambda: peer.train(DOCUMENTS), CPU)
    peer.encode(DOCUMENTS)


def test_a_killed_process_is_an_error() -> None:
    with pytest.raises(ResourceError, match="exit code -9"):
        PeerProcess(Peer).generate(DOCUMENTS, 1, 0)
