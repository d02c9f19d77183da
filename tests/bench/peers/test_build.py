import importlib.util
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from sumpool.bench.config import BenchConfig
from sumpool.bench.peers.build import build_peers, require_peers
from sumpool.bench.peers.process import PeerProcess
from sumpool.bench.systems.workload import Documents
from sumpool.errors import RecipeError
from tests.bench.peers.test_transformers_peer import CONDITIONS, CONFIG

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
