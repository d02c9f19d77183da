"""The fastest precision of a system is chosen for each workload."""

from functools import partial

import pytest
import torch

from sumpool.bench.config import Workload
from sumpool.bench.measures.timing import Work
from sumpool.bench.peers import fastest
from sumpool.bench.peers.fastest import FastestPeer
from sumpool.bench.systems.workload import Conditions, Contender, Documents

CONDITIONS = Conditions(vocabulary=40, device=torch.device("cpu"), precision=torch.float32)
TRIAL, DOCUMENTS = (Documents.random(1, length, 4, CONDITIONS) for length in (8, 20))
SECONDS = {"fp32": {"encode": 3.0, "generate": 5.0}, "bf16": {"encode": 1.0, "generate": 6.0}}


class Peer(Contender):
    """A system whose time is known; it has no training."""

    now = 0.0

    def __init__(self, precision: str) -> None:
        self.precision = precision
        self.calls: list[tuple[str, int, int]] = []

    def precision_of(self, workload: Workload) -> str:
        del workload
        return self.precision

    def encode(self, documents: Documents) -> str:
        return self._spend("encode", documents, 0)

    def train(self, documents: Documents) -> None:
        raise NotImplementedError("it does not learn")

    def generate(self, documents: Documents, beams: int, tokens: int) -> str:
        assert beams == 2
        return self._spend("generate", documents, tokens)

    def _spend(self, workload: str, documents: Documents, tokens: int) -> str:
        self.calls.append((workload, documents.ids.size(1), tokens))
        Peer.now += SECONDS[self.precision][workload]
        return self.precision


def test_the_fastest_of_each_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    def clock(work: Work, device: torch.device) -> float:
        del device
        before = Peer.now
        work()
        return Peer.now - before

    monkeypatch.setattr(fastest, "clock", clock)
    built = {name: Peer(name) for name in SECONDS}
    builds: list[str] = []

    def build(name: str) -> Peer:
        builds.append(name)
        return built[name]

    peer = FastestPeer({name: partial(build, name) for name in SECONDS}, TRIAL, 2, 16)
    assert peer.precision_of("encode") is None
    assert peer.encode(DOCUMENTS) == "bf16"
    assert peer.encode(DOCUMENTS) == "bf16"
    assert peer.generate(DOCUMENTS, 2, 30) == "fp32"
    assert (peer.precision_of("encode"), peer.precision_of("generate")) == ("bf16", "fp32")
    assert builds == ["fp32", "bf16", "fp32"]  # freed between the trials
    encoded = [("encode", 8, 0)] * 3
    written = [("generate", 8, 16)] * 3
    assert built["fp32"].calls == [*encoded, *written, ("generate", 20, 30)]
    assert built["bf16"].calls == [*encoded, ("encode", 20, 0), ("encode", 20, 0), *written]


def test_a_workload_that_is_missing_is_said() -> None:
    peer = FastestPeer({name: partial(Peer, name) for name in SECONDS}, TRIAL, 2, 16)
    with pytest.raises(NotImplementedError, match="it does not learn"):
        peer.train(DOCUMENTS)
    assert peer.precision_of("train") is None
