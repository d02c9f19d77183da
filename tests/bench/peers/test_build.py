import importlib.util
from functools import partial
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
import torch

from sumpool.bench.config import BenchConfig, Workload
from sumpool.bench.measures.timing import Work
from sumpool.bench.peers import build as module
from sumpool.bench.peers.build import FastestPeer, build_peers, require_peers
from sumpool.bench.peers.ctranslate2_peer import PeerProcess
from sumpool.bench.workload import Conditions, Contender, Documents
from sumpool.errors import RecipeError
from tests.bench.peers.test_transformers_peer import CONDITIONS, CONFIG

SMALL = Conditions(vocabulary=40, device=torch.device("cpu"), precision=torch.float32)
TRIAL, DOCUMENTS = (Documents.random(1, length, 4, SMALL) for length in (8, 20))
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

    monkeypatch.setattr(module, "clock", clock)
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


SHORT = CONFIG.model_copy(update={"source_length": 8, "target_length": 4})
OF_TRANSFORMERS = ["LED", "PEGASUS-X", "LongT5", "BART"]


def test_every_peer_reads_the_longest_and_writes_all_tokens() -> None:
    documents = Documents.random(1, 29, 11, CONDITIONS)
    peers = build_peers(SHORT, BenchConfig(lengths=(20, 29), generate=11, target=4), CONDITIONS)
    assert list(peers) == [*OF_TRANSFORMERS, "CTranslate2"]
    assert isinstance(peers["CTranslate2"], PeerProcess)
    before = libraries()
    for peer in peers.values():
        assert peer.precision_of("generate") is None
        peer.generate(documents, beams=2, tokens=11)
        assert peer.precision_of("generate") is not None
    for name in OF_TRANSFORMERS:
        peers[name].encode(documents)
        peers[name].train(documents)
    assert not [name for name in libraries() - before if "ctranslate2" in name], "it is in a process of its own"


def hide(monkeypatch: pytest.MonkeyPatch, *hidden: str) -> None:
    """Let it look as if these were not installed."""

    def find(name: str) -> ModuleSpec | None:
        return None if name in hidden else importlib.util.find_spec(name)

    monkeypatch.setattr("sumpool.bench.peers.build.find_spec", find)


def test_without_transformers_there_are_no_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "transformers")
    with pytest.raises(RecipeError, match=r"--peers must have transformers .*: pip install 'sumpool\[peers\]'"):
        require_peers()


def test_without_ctranslate2_there_are_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "ctranslate2")
    assert require_peers() == ("CTranslate2 is left out, ctranslate2 is not installed: pip install 'sumpool[peers]'",)
    assert list(build_peers(SHORT, BenchConfig(lengths=(8,)), CONDITIONS)) == OF_TRANSFORMERS


def libraries() -> set[str]:
    """Shared libraries of this process."""
    return {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if ".so" in line}
