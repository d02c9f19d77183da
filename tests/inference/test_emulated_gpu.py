"""Generation on an emulated GPU, steps captured by a stand-in for CUDA graphs: summaries and scores of the CPU."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from sumpool.bench.workload import Conditions, Documents, Subject
from sumpool.core.decoding.config import DecodingConfig, Lengths
from sumpool.core.model import cuda_graph
from sumpool.data.shards import Item
from sumpool.inference.generation import Generated, Generator
from sumpool.inference.loading import load_model
from tests.conftest import story
from tests.core.emulated_gpu import CUDA, emulated_gpu, on_gpu
from tests.core.model.test_cuda_graph import EagerGraph
from tests.training.toy import MODEL, VOCABULARY

STEPS = 20
"""Tokens of the longest summary."""


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> EagerGraph:
    graph = EagerGraph()
    monkeypatch.setattr(cuda_graph, "capture_graph", graph)
    return graph


def generate(run: Path, monkeypatch: pytest.MonkeyPatch, *, emulated: bool) -> tuple[list[Generated], Counter[str]]:
    """Summarise four stories, and count the waits of the host for the device."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: emulated)
    config = DecodingConfig(mbr=True, beams=3, samples=4, no_repeat_words=2, no_repeat_tokens=3)
    with emulated_gpu() as gpu, torch.no_grad():
        loaded = load_model(run)
        gpu.synchronisations.clear()
        chunks = []
        for number in range(4):
            ids = np.array(loaded.tokenizer.encode(story(number, 8 + number)), np.uint16)
            chunks.append(Item("story", ids, np.zeros(len(ids), np.int32), None))
        generated = Generator(loaded.model, loaded.tokenizer, config, Lengths(2, STEPS)).generate(chunks)
    return generated, gpu.synchronisations


@pytest.mark.slow
def test_summaries_are_those_of_the_cpu(run_folder: Path, monkeypatch: pytest.MonkeyPatch, graph: EagerGraph) -> None:
    expected, _ = generate(run_folder, monkeypatch, emulated=False)
    assert not graph.captured
    actual, waits = generate(run_folder, monkeypatch, emulated=True)
    assert graph.captured >= 2, "the steps of the search and those of the samples"
    assert graph.replayed > STEPS
    for one, other in zip(actual, expected, strict=True):
        assert (one.text, one.samples) == (other.text, other.samples)
        assert one.score == pytest.approx(other.score, rel=1e-5)
    assert {cause.partition(":")[0] for cause in waits} <= {
        "core/decoding/device_search.py",
        "inference/generation.py",  # predicted lengths
    }
    assert waits.total() < STEPS, waits


def test_the_benchmark_takes_the_same_steps(graph: EagerGraph) -> None:
    conditions = Conditions(VOCABULARY, torch.device("cpu"), torch.float32)
    subject = Subject(MODEL.model_copy(update={"target_length": 40}), conditions)
    documents = Documents.random(2, 16, 5, conditions)
    with emulated_gpu() as gpu, torch.no_grad():
        on_gpu(subject.model)
        subject.decoder = cuda_graph.GraphedDecoder(subject.model)
        ids, mask, sentences = (part.to(CUDA) for part in (documents.ids, documents.mask, documents.sentences))
        memory = subject.generator.eval().encode(ids, mask, sentences, lengths=documents.lengths)
        before = gpu.synchronisations.copy()
        subject.write(memory, 2, 10)
        waits = gpu.synchronisations - before
    assert (graph.captured, graph.replayed) == (1, 10)
    assert waits.total() == 2, "the check at the end, and the hypotheses"
