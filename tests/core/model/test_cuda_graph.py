"""Captured steps, against plain ones; without a GPU, a stand-in for graphs computes each step again."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest
import torch
from torch import Tensor

from sumpool.core.decoding import beam as decoding_beam
from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import Hypothesis, Lengths, Ranking
from sumpool.core.model import cuda_graph
from sumpool.core.model.cuda_graph import GraphedDecoder, StepOutput, capture_graph
from sumpool.core.model.kv_cache import CompactingCache, StaticCache
from sumpool.core.model.summarizer import SummarizationModel
from tests.core.batches import DEVICES
from tests.core.model.test_summarizer import VOCAB, make_documents, make_model


def tensors(output: StepOutput) -> list[Tensor]:
    return [output[0], *cuda_graph._tensors(output[1])]


class EagerGraph:
    """Stand-in for a CUDA graph: the same function, results in the same tensors, unchanged shapes."""

    def __init__(self) -> None:
        self.captured = 0
        self.replayed = 0

    def __call__(self, run: Callable[[], StepOutput]) -> tuple[StepOutput, Callable[[], object]]:
        self.captured += 1
        output = run()

        def replay() -> None:
            self.replayed += 1
            for before, after in zip(tensors(output), tensors(run()), strict=True):
                assert before.shape == after.shape
                if before.data_ptr() != after.data_ptr():
                    before.copy_(after)

        return output, replay


def summaries(model: SummarizationModel, steps: GraphedDecoder, lengths: list[int]) -> list[list[Hypothesis]]:
    device = model.embedding.weight.device
    memory = model.encode(*(part.to(device) for part in make_documents(*lengths)))
    bounds = [Lengths(3, 12 + document) for document in range(len(lengths))]
    return search(steps.step, steps.start(memory, 3, 15), bounds, Ranking(3), device=device)


def assert_same(actual: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    for hypotheses, expected_hypotheses in zip(actual, expected, strict=True):
        assert [one.tokens for one in hypotheses] == [one.tokens for one in expected_hypotheses]
        assert [one.score for one in hypotheses] == pytest.approx([one.score for one in expected_hypotheses], abs=1e-9)


@pytest.mark.parametrize("device", DEVICES)
def test_a_search_with_graphs_returns_the_same_hypotheses(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_model().double().requires_grad_(False).to(device)
    graphed = GraphedDecoder(model, capture_graph if device == "cuda" else EagerGraph())
    plain = GraphedDecoder(model)
    monkeypatch.setattr(plain, "_capture", None)
    for lengths in ([70, 40, 9, 12], [70, 41, 8, 30], [50, 40]):  # the second batch has the shapes of the first
        expected = summaries(model, plain, lengths)
        for fraction in (1.0, 0.5):
            monkeypatch.setitem(decoding_beam.COMPACT_BELOW, device, fraction)
            assert_same(summaries(model, graphed, lengths), expected)


def test_known_shapes_are_replayed() -> None:
    model = make_model().requires_grad_(False)
    graph = EagerGraph()
    steps = GraphedDecoder(model, graph)

    def decode(tokens: int, *lengths: int) -> None:
        with torch.inference_mode():
            state = steps.start(model.encode(*make_documents(*lengths)), 2, tokens)
            for _ in range(tokens):
                _, state = steps.step(torch.randint(5, VOCAB, (2 * len(lengths),)), state)

    for tokens in (3, 7, 5):
        decode(tokens, 70, 40)
    assert graph.captured == 1, "the cache has slots for 64 steps each time"
    assert graph.replayed == 2 + 6 + 4
    for length in (70, 75, 80):
        decode(2, length)
    assert graph.captured == 2, "lengths are padded to those that batches share"
    for length in (65, 81, 97, 113, 129, 161):
        decode(2, length)
    assert len(steps._graphs) == 4


def test_steps_are_captured_on_a_gpu_only() -> None:
    model = make_model()
    memory = model.encode(*make_documents(9))
    assert isinstance(GraphedDecoder(model).start(memory, 2, 5).self_cache, CompactingCache)
    assert isinstance(GraphedDecoder(model, EagerGraph()).start(memory, 2, 5).self_cache, StaticCache)


def test_graphs_are_forgotten_when_weights_move() -> None:
    model, graph = make_model().requires_grad_(False), EagerGraph()
    steps = GraphedDecoder(model, graph)
    summaries(model, steps, [70])
    summaries(model, steps, [70])
    assert graph.captured == 1
    weight = model.embedding.weight
    weight.data = weight.data.clone()
    summaries(model, steps, [70])
    assert graph.captured == 2


def test_a_graph_does_not_read_weights_that_autocast_keeps() -> None:
    model, caches = make_model(), []

    def capture(run: Callable[[], StepOutput]) -> tuple[StepOutput, Callable[[], object]]:
        caches.append((torch.is_autocast_enabled("cpu"), torch.is_autocast_cache_enabled()))
        return EagerGraph()(run)

    steps = GraphedDecoder(model, capture)
    with torch.inference_mode():
        with torch.autocast("cpu", torch.bfloat16):
            summaries(model, steps, [70])
        assert torch.is_autocast_cache_enabled()
        summaries(model, steps, [70])
    assert caches == [(True, False), (False, False)]


def test_graphs_that_exist_share_no_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    class Graph:
        def replay(self) -> None: ...

    streams: list[object] = []

    def graph(_: Graph, stream: object = None) -> AbstractContextManager[None]:
        streams.append(stream)
        return nullcontext()

    model = make_model()
    state = model.start(model.encode(*make_documents(9)), 1)
    monkeypatch.setattr(cuda_graph, "_idle_streams", [])
    for name, stand_in in (("CUDAGraph", Graph), ("graph", graph), ("Stream", object)):
        monkeypatch.setattr(torch.cuda, name, stand_in)
    captured = [capture_graph(lambda: (torch.zeros(1), state)) for _ in range(3)]
    assert None not in streams
    assert len(set(streams)) == 3
    del captured[1]
    captured.append(capture_graph(lambda: (torch.zeros(1), state)))
    assert streams[3] is streams[1]
