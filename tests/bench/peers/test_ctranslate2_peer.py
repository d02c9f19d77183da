import gc
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from sumpool.bench.peers import ctranslate2_peer
from sumpool.bench.peers.ctranslate2_peer import CTranslate2Peer, compute_types
from sumpool.bench.peers.transformers_peer import TransformersPeer, bart
from sumpool.bench.systems.workload import Conditions, Documents
from sumpool.core.model.config import ModelConfig
from sumpool.special_tokens import EOS
from tests.bench.peers.test_transformers_peer import CONFIG

CONDITIONS = Conditions(vocabulary=60, device=torch.device("cpu"), precision=torch.float32)
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
    documents = Documents.random(3, length, 1, CONDITIONS)
    found = CTranslate2Peer(LONG, CONDITIONS, "float32", threads=2).generate(documents, beams, tokens)
    assert torch.equal(found, TransformersPeer(shaken_bart, LONG, CONDITIONS).generate(documents, beams, tokens))
    assert len(found.unique(dim=0)) > 1


def hasty_bart(config: ModelConfig, vocabulary: int) -> torch.nn.Module:
    """A BART that would rather end."""
    model: torch.nn.Module = bart(config, vocabulary)
    model.get_buffer("final_logits_bias")[:, EOS] = 9
    return model


@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_writes_as_many_tokens_as_asked_for(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(ctranslate2_peer, "bart", hasty_bart)
    peer = CTranslate2Peer(LONG, CONDITIONS, kind, threads=2)
    found = peer.generate(Documents.random(2, 20, 1, CONDITIONS), beams=2, tokens=8)
    assert found.shape == (2, 8)
    assert EOS not in found
    assert kind in peer.translator.compute_type


def test_it_only_writes() -> None:
    peer = CTranslate2Peer(LONG, CONDITIONS, "float32", threads=2)
    documents = Documents.random(1, 8, 4, CONDITIONS)
    with pytest.raises(NotImplementedError, match="CTranslate2 does not train"):
        peer.train(documents)
    with pytest.raises(NotImplementedError, match="CTranslate2 reads only where it writes"):
        peer.encode(documents)
    assert "translator" not in vars(peer)  # it says so before it makes any weights


def test_has_as_many_threads_as_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Mock()
    monkeypatch.setattr("ctranslate2.Translator", made)
    assert CTranslate2Peer(LONG, CONDITIONS, "int8", threads=3).translator is made.return_value
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
    peer = CTranslate2Peer(LONG, CONDITIONS, "float32", threads=2)
    peer.generate(Documents.random(1, 8, 1, CONDITIONS), 1, 2)
    before = threads()
    del peer
    gc.collect()
    assert threads() < before


def threads() -> int:
    """Threads of this process."""
    return len(list(Path("/proc/self/task").iterdir()))
