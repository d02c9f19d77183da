import importlib.util
from importlib.machinery import ModuleSpec

import pytest
import torch

from sumpool.bench.peers.build import build_peers, require_peers
from sumpool.bench.workload import Conditions, Documents
from sumpool.core.attention.blockwise import BlockwiseConfig
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.errors import RecipeError

CONDITIONS = Conditions(vocabulary=40, device=torch.device("cpu"), precision=torch.float32)
CONFIG = ModelConfig(
    dim=16,
    heads=2,
    feed_forward=24,
    source_length=8,
    target_length=4,
    encoder=(EncoderLayerConfig(attention=BlockwiseConfig(block=8)),),
    decoder=DecoderConfig(layers=1),
)
OF_TRANSFORMERS = ["LED", "PEGASUS-X", "LongT5", "BART"]


def test_every_peer_reads_the_longest_and_writes_all_tokens() -> None:
    documents = Documents.random(1, 29, 11, CONDITIONS)
    peers = build_peers(CONFIG, longest=29, conditions=CONDITIONS, tokens=11)
    assert list(peers) == OF_TRANSFORMERS
    for peer in peers.values():
        peer.encode(documents)
        peer.train(documents)
        peer.generate(documents, beams=2, tokens=11)


def hide(monkeypatch: pytest.MonkeyPatch, *hidden: str) -> None:
    """Let it look as if these were not installed."""

    def find(name: str) -> ModuleSpec | None:
        return None if name in hidden else importlib.util.find_spec(name)

    monkeypatch.setattr("sumpool.bench.peers.build.find_spec", find)


def test_without_transformers_there_are_no_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "transformers")
    with pytest.raises(RecipeError, match=r"--peers must have transformers .*: pip install 'sumpool\[peers\]'"):
        require_peers()
