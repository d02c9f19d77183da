import gc
import os
import signal
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from sumpool.bench.config import Workload
from sumpool.bench.peers import ctranslate2_peer
from sumpool.bench.peers.ctranslate2_peer import CTranslate2Peer, PeerProcess, compute_types
from sumpool.bench.peers.transformers_peer import TransformersPeer, bart
from sumpool.bench.workload import Conditions, Contender, Documents
from sumpool.core.model.config import ModelConfig
from sumpool.errors import ResourceError
from sumpool.special_tokens import EOS
from tests.bench.peers.test_transformers_peer import CONFIG

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
    with pytest.raises(ResourceError, match="but one has ended"):
        PeerProcess(Peer).generate(DOCUMENTS, 1, 0)


WIDE = Conditions(vocabulary=60, device=torch.device("cpu"), precision=torch.float32)
LONG = CONFIG.model_copy(update={"source_length": 2000})


def shaken_bart(config: ModelConfig, vocabulary: int) -> torch.nn.Module:
    """A BART whose summaries differ from document to document."""
    model: torch.nn.Module = bart(config, vocabulary)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "norm" not in name:
                weights.copy_(torch.randn_like(weights))
    return model


@pytest.mark.parametrize("length", [7, 1500])
@pytest.mark.parametrize(("beams", "tokens"), [(1, 9), (3, 6)])
def test_writes_what_bart_of_transformers_writes(
    monkeypatch: pytest.MonkeyPatch, length: int, beams: int, tokens: int
) -> None:
    monkeypatch.setattr(ctranslate2_peer, "bart", shaken_bart)
    documents = Documents.random(3, length, 1, WIDE)
    found = CTranslate2Peer(LONG, WIDE, "float32", threads=2).generate(documents, beams, tokens)
    assert torch.equal(found, TransformersPeer(shaken_bart, LONG, WIDE).generate(documents, beams, tokens))
    assert len(found.unique(dim=0)) > 1


def hasty_bart(config: ModelConfig, vocabulary: int) -> torch.nn.Module:
    """A BART that would rather end."""
    model: torch.nn.Module = bart(config, vocabulary)
    model.get_buffer("final_logits_bias")[:, EOS] = 9
    return model


@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_writes_as_many_tokens_as_asked_for(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(ctranslate2_peer, "bart", hasty_bart)
    peer = CTranslate2Peer(LONG, WIDE, kind, threads=2)
    found = peer.generate(Documents.random(2, 20, 1, WIDE), beams=2, tokens=8)
    assert found.shape == (2, 8)
    assert EOS not in found
    assert kind in peer.translator.compute_type


def test_it_only_writes() -> None:
    peer = CTranslate2Peer(LONG, WIDE, "float32", threads=2)
    documents = Documents.random(1, 8, 4, WIDE)
    with pytest.raises(NotImplementedError, match="CTranslate2 does not train"):
        peer.train(documents)
    with pytest.raises(NotImplementedError, match="CTranslate2 reads only where it writes"):
        peer.encode(documents)
    assert "translator" not in vars(peer)  # it says so before it makes any weights


def test_has_as_many_threads_as_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Mock()
    monkeypatch.setattr("ctranslate2.Translator", made)
    assert CTranslate2Peer(LONG, WIDE, "int8", threads=3).translator is made.return_value
    assert made.call_args.kwargs["intra_threads"] == 3
    assert made.call_args.kwargs["inter_threads"] == 1


@pytest.mark.parametrize(
    ("supported", "found"),
    [
        ({"float32", "int8", "int8_float32"}, ("float32", "int8")),
        ({"float32", "int8", "bfloat16", "int8_bfloat16"}, ("float32", "int8", "bfloat16", "int8_bfloat16")),
    ],
)
def test_computes_in_what_the_device_supports(
    monkeypatch: pytest.MonkeyPatch, supported: set[str], found: tuple[str, ...]
) -> None:
    monkeypatch.setattr("ctranslate2.get_supported_compute_types", lambda _device: supported)
    assert compute_types(torch.device("cpu")) == found


def test_goes_with_its_threads() -> None:
    peer = CTranslate2Peer(LONG, WIDE, "float32", threads=2)
    peer.generate(Documents.random(1, 8, 1, WIDE), 1, 2)
    before = threads()
    del peer
    gc.collect()
    assert threads() < before


def threads() -> int:
    """Threads of this process."""
    return len(list(Path("/proc/self/task").iterdir()))
