import gc
import importlib.util
import os
import pickle
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.machinery import ModuleSpec
from math import prod
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from sumpool.bench.config import BenchConfig, Workload
from sumpool.bench.peers import (
    BUILDS,
    RUNTIMES,
    Build,
    CTranslate2Peer,
    FastestPeer,
    GraphPeer,
    PeerProcess,
    TransformersPeer,
    bart,
    block_of,
    build_peers,
    compute_types,
    led,
    long_t5,
    pegasus_x,
)
from sumpool.bench.workload import Conditions, Contender, Documents, Subject
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.attention.vanilla import VanillaAttentionConfig
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.core.output import TiedOutputConfig
from sumpool.errors import RecipeError
from sumpool.progress import Progress, no_op
from sumpool.special_tokens import EOS
from tests.bench.conftest import CONDITIONS, CPU, LAYER, Time

CONFIG = ModelConfig(
    dim=16,
    heads=2,
    feed_forward=24,
    source_length=24,
    target_length=9,
    encoder=(LAYER,) * 2,
    decoder=DecoderConfig(layers=1),
)


@pytest.fixture(params=BUILDS)
def build(request: pytest.FixtureRequest) -> Build:
    return BUILDS[request.param]


@pytest.fixture
def documents() -> Documents:
    return Documents.random(2, 21, 7, CONDITIONS)


def test_reads_every_token_and_writes_as_many_as_asked_for(build: Build) -> None:
    peer = TransformersPeer(build, CONFIG, CONDITIONS)
    for length in (24, 21, 5):
        documents = Documents.random(2, length, 7, CONDITIONS)
        found = peer.encode(documents)
        assert found.shape == (*documents.ids.shape, CONFIG.dim)
        assert found.isfinite().all()
        for beams, tokens in ((1, 9), (3, 4)):
            summaries = peer.generate(documents, beams, tokens)
            assert summaries.shape == (2, tokens)
            assert EOS not in summaries


def hasty_bart(config: ModelConfig, vocabulary: int) -> torch.nn.Module:
    """A BART that would rather end."""
    model: torch.nn.Module = bart(config, vocabulary)
    model.get_buffer("final_logits_bias")[:, EOS] = 9
    return model


def test_training_learns_from_the_summaries_and_leaves_no_gradients(build: Build, documents: Documents) -> None:
    peer = TransformersPeer(build, CONFIG, CONDITIONS)
    seen: list[torch.Size] = []
    weight = peer.model.get_input_embeddings().weight
    weight.register_hook(lambda gradient: seen.append(gradient.shape))
    peer.encode(documents)
    peer.train(documents)
    assert peer.model.training
    assert seen == [weight.shape]
    assert all(weights.grad is None for weights in peer.model.parameters())
    logits: list[torch.Tensor] = []
    peer.model.get_output_embeddings().register_forward_hook(lambda _module, _given, found: logits.append(found))
    peer.train(documents)
    assert logits[0].shape == (*documents.target.shape, CONDITIONS.vocabulary)


def test_weights_have_the_precision(build: Build, documents: Documents) -> None:
    conditions = Conditions(40, torch.device("cpu"), torch.bfloat16)
    peer = TransformersPeer(build, CONFIG, conditions)
    peer.train(documents)
    assert {weights.dtype for weights in peer.model.parameters()} == {torch.bfloat16}
    assert peer.encode(documents).dtype is torch.bfloat16
    assert peer.generate(documents, 2, 4).shape == (2, 4)


VOCABULARY, DIM, FEED_FORWARD = 100, 64, 96
ENCODER_LAYERS, DECODER_LAYERS = 3, 2


def config_with(attention: BlockwiseAttentionConfig | VanillaAttentionConfig) -> ModelConfig:
    """A model that learns all that BART does; fewer positions than features."""
    return ModelConfig(
        dim=DIM,
        heads=4,
        feed_forward=FEED_FORWARD,
        positions="learned",
        embedding_norm=True,
        norm="post",
        source_length=32,
        target_length=32,
        encoder=(EncoderLayerConfig(attention=attention),) * ENCODER_LAYERS,
        decoder=DecoderConfig(layers=DECODER_LAYERS, positions="learned"),
        output=TiedOutputConfig(bias=False),
    )


BLOCKWISE = config_with(BlockwiseAttentionConfig(block=8))


def test_every_matrix_is_that_of_the_shape() -> None:
    """`more` are the projections that LED has for tokens that see everything."""
    for build, more in ((bart, 0), (pegasus_x, 0), (long_t5, 0), (led, 3)):
        weights = dict(build(BLOCKWISE, VOCABULARY).named_parameters()).values()
        found = sum(prod(weight.shape) for weight in weights if weight.ndim == 2 and min(weight.shape) >= DIM)
        encoder = ENCODER_LAYERS * ((4 + more) * DIM * DIM + 2 * DIM * FEED_FORWARD)
        decoder = DECODER_LAYERS * (8 * DIM * DIM + 2 * DIM * FEED_FORWARD)
        assert found == encoder + decoder + VOCABULARY * DIM


def test_what_a_token_sees_is_as_wide_as_the_first_block() -> None:
    config = config_with(BlockwiseAttentionConfig(block=512))
    assert set(led(config, VOCABULARY).config.attention_window) == {512}
    assert pegasus_x(config, VOCABULARY).config.block_size == 512
    assert pegasus_x(config, VOCABULARY).config.num_global_tokens == 32
    assert long_t5(config, VOCABULARY).config.local_radius == 255
    assert bart(config, VOCABULARY).config._attn_implementation == "sdpa"
    assert block_of(BLOCKWISE) == 8
    assert block_of(config_with(VanillaAttentionConfig())) == BlockwiseAttentionConfig().block


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
    peer.run("encode", DOCUMENTS)
    peer.run("generate", DOCUMENTS, 3, 7)
    process, answer = str(peer.precision_of("generate")).split(" ", 1)
    assert int(process) != os.getpid()
    assert answer == "generate: read 3 7"
    assert peer.precision_of("encode") == f"{process} encode: read"
    assert Path("/proc", process).exists()
    del peer
    gc.collect()
    assert not Path("/proc", process).exists()


def test_the_thread_of_the_pool_handles_no_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    peer = PeerProcess(Peer)
    submit = Mock(wraps=peer._pool.submit)
    monkeypatch.setattr(peer._pool, "submit", submit)
    peer.run("encode", DOCUMENTS)
    assert b"torch" not in pickle.dumps(submit.call_args.args)  # a tensor would start OpenMP threads


def test_peak_memory_is_that_of_the_process_and_errors_are_in_its_words() -> None:
    peer = PeerProcess(Peer)
    peer.run("encode", DOCUMENTS)
    assert peer.peak(lambda: peer.run("encode", DOCUMENTS), CPU) == pytest.approx(HELD, rel=0.1)
    assert (peer.peak(lambda: peer.run("generate", DOCUMENTS, 1, 1), CPU) or 0) < HELD / 2
    with pytest.raises(NotImplementedError, match="it does not learn"):
        peer.run("train", DOCUMENTS)
    with pytest.raises(NotImplementedError, match="it does not learn"):
        peer.peak(lambda: peer.run("train", DOCUMENTS), CPU)
    peer.run("encode", DOCUMENTS)


def test_a_killed_process_is_the_end_of_memory() -> None:
    with pytest.raises(MemoryError, match="the process of the peer has ended"):
        PeerProcess(Peer).run("generate", DOCUMENTS, 1, 0)


WIDE = Conditions(vocabulary=60, device=CPU, precision=torch.float32)
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
    monkeypatch.setattr("sumpool.bench.peers.bart", shaken_bart)
    documents = Documents.random(3, length, 1, WIDE)
    found = CTranslate2Peer(LONG, WIDE, "float32", threads=2).generate(documents, beams, tokens)
    assert torch.equal(found, TransformersPeer(shaken_bart, LONG, WIDE).generate(documents, beams, tokens))
    assert len(found.unique(dim=0)) > 1


@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_writes_as_many_tokens_as_asked_for(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr("sumpool.bench.peers.bart", hasty_bart)
    peer = CTranslate2Peer(LONG, WIDE, kind, threads=2)
    found = peer.generate(Documents.random(2, 20, 1, WIDE), beams=2, tokens=8)
    assert found.shape == (2, 8)
    assert EOS not in found
    assert kind in peer.translator.compute_type
    assert EOS not in TransformersPeer(hasty_bart, CONFIG, CONDITIONS).generate(DOCUMENTS, 2, 6)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_graphs_write_what_our_model_writes(runtime: str) -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:  # a signal ends a process that has loaded OpenVINO
        alone.submit(assert_graphs_write_what_our_model_writes, runtime).result()


def assert_graphs_write_what_our_model_writes(runtime: str) -> None:
    documents = Documents.random(2, 20, 1, WIDE)
    exact, *rounded = (GraphPeer(runtime, LONG, WIDE, precision, 1) for precision in RUNTIMES[runtime][0])
    subject = Subject(exact.config, WIDE)
    expected = subject.model.eval().start(subject.encode(documents), 1).cross_cache[-1]["key"]
    assert torch.allclose(exact.encode(documents).cross_cache[-1]["key"], expected, atol=1e-4)
    for peer in rounded:
        error = (peer.encode(documents).cross_cache[-1]["key"] - expected).norm() / expected.norm()
        assert (1e-4 if peer.precision == "int8" else 0) <= error < 0.1
    for peer in (exact, *rounded):
        written = peer.generate(documents, beams=2, tokens=8)
        assert written.shape == (2, 8)
        assert EOS not in written
    assert sys.modules.get("openvino_telemetry") is None, "nothing is sent"


def test_it_only_writes() -> None:
    peer = CTranslate2Peer(LONG, WIDE, "float32", threads=2)
    documents = Documents.random(1, 8, 4, WIDE)
    workloads: tuple[Workload, ...] = ("encode", "train")
    for workload in workloads:
        with pytest.raises(NotImplementedError, match=f"CTranslate2 offers no method to {workload}"):
            peer.run(workload, documents)
    assert "translator" not in vars(peer)  # it says so before it makes any weights


def test_threads_are_those_asked_for_and_precisions_those_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Mock()
    monkeypatch.setattr("ctranslate2.Translator", made)
    assert CTranslate2Peer(LONG, WIDE, "int8", threads=3).translator is made.return_value
    assert made.call_args.kwargs["intra_threads"] == 3
    assert made.call_args.kwargs["inter_threads"] == 1
    for found in (("float32", "int8"), ("float32", "int8", "bfloat16", "int8_bfloat16")):
        monkeypatch.setattr("ctranslate2.get_supported_compute_types", Mock(return_value={*found, "int8_float32"}))
        assert compute_types(torch.device("cpu")) == found


TRIAL, LONGER = (Documents.random(1, length, 4, CONDITIONS) for length in (8, 20))
SECONDS = {"fp32": {"encode": 3.0, "generate": 5.0}, "bf16": {"encode": 1.0, "generate": 6.0}}


class TimedPeer(Contender):
    """A system whose time is known; it has no training."""

    def __init__(self, precision: str, time: Time) -> None:
        self.precision = precision
        self.time = time
        self.calls: list[tuple[str, int, int]] = []

    def encode(self, documents: Documents) -> str | None:
        return self._spend("encode", documents, 0)

    def train(self, documents: Documents) -> None:
        raise NotImplementedError("it does not learn")

    def generate(self, documents: Documents, beams: int, tokens: int) -> str | None:
        assert beams == 2
        return self._spend("generate", documents, tokens)

    def _spend(self, workload: str, documents: Documents, tokens: int) -> str | None:
        self.calls.append((workload, documents.ids.size(1), tokens))
        self.time.now += SECONDS[str(self.precision)][workload]
        return self.precision


def test_the_fastest_of_each_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time()
    monkeypatch.setattr("sumpool.bench.peers.clock", time.clock)
    built = {name: TimedPeer(name, time) for name in SECONDS}
    builds: list[str] = []

    def build(name: str) -> TimedPeer:
        builds.append(name)
        return built[name]

    peer = FastestPeer({name: partial(build, name) for name in SECONDS}, TRIAL, 2, 16)
    assert peer.precision_of("encode") is None
    assert peer.run("encode", LONGER) == "bf16"
    assert peer.run("encode", LONGER) == "bf16"
    assert peer.run("generate", LONGER, 2, 30) == "fp32"
    assert (peer.precision_of("encode"), peer.precision_of("generate")) == ("bf16", "fp32")
    assert builds == ["fp32", "bf16", "fp32"]  # freed between the trials
    encoded = [("encode", 8, 0)] * 3
    written = [("generate", 8, 16)] * 3
    assert built["fp32"].calls == [*encoded, *written, ("generate", 20, 30)]
    assert built["bf16"].calls == [*encoded, ("encode", 20, 0), ("encode", 20, 0), *written]
    with pytest.raises(NotImplementedError, match="it does not learn"):
        peer.run("train", LONGER)
    assert peer.precision_of("train") is None


SHORT = CONFIG.model_copy(update={"source_length": 8, "target_length": 4})


def test_every_peer_reads_the_longest_and_writes_all_tokens() -> None:
    documents = Documents.random(1, 29, 11, CONDITIONS)
    peers = build_peers(SHORT, BenchConfig(lengths=(20, 29), generate=11, target=4), CONDITIONS, no_op)
    assert list(peers) == [*BUILDS, "CTranslate2", "ONNX Runtime", "OpenVINO"]
    assert isinstance(peers["CTranslate2"], PeerProcess)
    assert isinstance(peers["ONNX Runtime"], PeerProcess)
    before = libraries()
    for name in [*BUILDS, "CTranslate2"]:
        peer = peers[name]
        assert peer.precision_of("generate") is None
        peer.run("generate", documents, 2, 11)
        assert peer.precision_of("generate") is not None
    for name in BUILDS:
        peers[name].run("encode", documents)
        peers[name].run("train", documents)
    assert not [name for name in libraries() - before if "ctranslate2" in name], "it is in a process of its own"


def hide(monkeypatch: pytest.MonkeyPatch, *hidden: str) -> None:
    """Let it look as if these were not installed."""

    def find(name: str) -> ModuleSpec | None:
        return None if name in hidden else importlib.util.find_spec(name)

    monkeypatch.setattr("sumpool.bench.peers.find_spec", find)


def test_what_is_not_installed_is_left_out_but_for_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "transformers")
    with pytest.raises(RecipeError, match=r"--peers must have transformers .*: pip install 'sumpool\[peers\]'"):
        build_peers(SHORT, BenchConfig(lengths=(8,)), CONDITIONS, no_op)
    hide(monkeypatch, "ctranslate2", "onnx")
    heard: list[Progress] = []
    assert list(build_peers(SHORT, BenchConfig(lengths=(8,)), CONDITIONS, heard.append)) == [*BUILDS]
    left_out = [("CTranslate2", "ctranslate2"), ("ONNX Runtime", "onnx"), ("OpenVINO", "onnx")]
    assert [progress.note for progress in heard] == [
        f"{name} is left out, {module} is not installed: pip install 'sumpool[peers]'" for name, module in left_out
    ]
    chosen = BenchConfig(lengths=(8,), peers=("BART",))
    assert list(build_peers(SHORT, chosen, CONDITIONS, no_op)) == ["BART"]
    with pytest.raises(RecipeError, match=r"bench\.peers must name some of LED, .*, BART, got LSD"):
        build_peers(SHORT, chosen.model_copy(update={"peers": ("LSD",)}), CONDITIONS, no_op)


def libraries() -> set[str]:
    """Shared libraries of this process."""
    return {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if ".so" in line}
