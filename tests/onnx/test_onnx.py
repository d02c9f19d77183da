"""Graphs and searches in ONNX Runtime beside those of the model."""

from pathlib import Path

import pytest
import torch

from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import Lengths, Ranking
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.errors import CheckpointError
from sumpool.inference.loading import load_model
from sumpool.io.manifest import Manifest
from sumpool.onnx import EncoderGraph, GrowingCache, OnnxModel, check_graphs, convert, decoder_state, encoded_tensors
from sumpool.workflows.export_model import export_model
from tests.conftest import write_run


def assert_equal_searches(model: SummarizationModel, graphs: OnnxModel) -> None:
    """Compare searches over documents of all lengths beside those of blocks and windows."""
    ranking, lengths, summaries = Ranking(beams=3), [Lengths(2, 15)] * 4, set()
    with torch.inference_mode():
        for length in (1, 2, 4, 5, 7, 8, 9, 16, 24, 25, 48, 60, 61):
            ids = torch.randint(4, model.vocabulary, (4, length))
            mask = torch.arange(length) < torch.tensor([[length], [1], [(length + 1) // 2], [length]])
            documents = ids.masked_fill(~mask, 0), mask, torch.arange(length).expand(4, -1) // 5
            expected = search(model.step, model.start(model.encode(*documents), 3), lengths, ranking)
            searched = search(graphs.step, graphs.start(*documents, beams=3, pad=0), lengths, ranking)
            for [first, *_], [other, *_] in zip(expected, searched, strict=True):
                assert first.tokens == other.tokens, length
                assert first.log_prob == pytest.approx(other.log_prob, abs=1e-3)
                summaries.add(first.tokens)
    assert len(summaries) > 5


CONFIG = ModelConfig.model_validate(
    {
        "dim": 16,
        "heads": 2,
        "feed_forward": 32,
        "source_length": 40,
        "target_length": 24,
        "encoder": [
            {"attention": {"kind": "blockwise", "block": 8}, "pool": {"kind": "halving", "keep": 6}},
            {"attention": {"kind": "blockwise", "block": 8}},
        ],
        "decoder": {"layers": 2, "predict_length": True},
        "output": {"kind": "pointer", "key": 8, "preceding": 4},
    }
)


def test_a_search_over_a_growing_cache_is_that_of_the_model() -> None:
    torch.manual_seed(5)
    model = SummarizationModel(CONFIG, 50).double().eval()
    ids = torch.randint(4, 50, (4, 33))
    mask = torch.arange(33) < torch.tensor([[33], [1], [20], [8]])
    memory = model.encode(ids.masked_fill(~mask, 0), mask, torch.arange(33).expand(4, -1) // 5)
    state = model.start(memory, 3)
    torch.set_default_dtype(torch.float64)
    try:
        cache = GrowingCache.empty([(CONFIG.heads, CONFIG.dim // CONFIG.heads)] * 2, 4, 3)
    finally:
        torch.set_default_dtype(torch.float32)
    grown = decoder_state(encoded_tensors(state), state.previous_token, cache)
    lengths, ranking = [Lengths(2, 20)] * 4, Ranking(beams=3)
    expected = search(model.step, state, lengths, ranking)
    assert search(model.step, grown, lengths, ranking) == expected
    assert len({hypothesis.tokens for [hypothesis, *_] in expected}) == 4


def test_an_encoder_without_shapes_that_depend_on_values_computes_the_same() -> None:
    torch.manual_seed(6)
    model = SummarizationModel(CONFIG, 50).eval()
    graph = EncoderGraph(model)
    for length in (1, 6, 7, 39, 40):
        ids = torch.randint(4, 50, (2, length))
        mask = torch.arange(length) < torch.tensor([[length], [max(1, length // 2)]])
        documents = ids.masked_fill(~mask, 0), mask, torch.zeros_like(ids)
        encoded = graph(*documents)
        for name, expected in encoded_tensors(model.start(model.encode(*documents), 1)).items():
            part = encoded[name][tuple(map(slice, expected.shape))]
            assert torch.allclose(part, expected, atol=1e-5), (length, name)


RECIPE = """\
name: random
data: {source: {kind: jsonl, path: train.jsonl}, vocabulary: 400}
model:
  dim: 16
  heads: 2
  feed_forward: 32
  source_length: 61
  target_length: 20
  positions: learned
  norm: post
  embedding_norm: true
  encoder:
    - {attention: {kind: blockwise, block: 16}, pool: {kind: halving, keep: 16}}
    - {attention: {kind: sliding_window, window: 8, global_first: true}}
  decoder:
    layers: 1
    positions: learned
    cross_attention: {kind: sentence, sentences: 2, selection: {kind: approximate}}
train: {loss_weights: {selection: 0.1}}
"""


def test_searches_over_exported_graphs_are_those_of_the_model(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", RECIPE)
    (run / "README.md").write_text("# random\n")
    folder = export_model(run, tmp_path / "on", format_="onnx")
    names = {"recipe.yaml", "tokenizer.model", "report.json", "README.md", "manifest.json"}
    assert {path.name for path in folder.iterdir()} == {*names, "encoder.onnx", "decoder.onnx"}
    assert Manifest.read(folder).files.keys() >= {"encoder.onnx", "decoder.onnx"}
    model = load_model(run).model
    assert_equal_searches(model, OnnxModel(folder))
    card = (folder / "README.md").read_text()
    assert "| encoder.onnx | input | sentences | int64 | (batch, length) |" in card
    assert "| decoder.onnx | output | next_cache_0 | float | (2, batch, 2, slots + beams, 8) |" in card
    assert f"| decoder.onnx | output | log_probs | float | (batch, beams, {model.vocabulary}) |" in card
    check_graphs(model, folder)
    with torch.no_grad():
        model.embedding.weight *= 1.5
    with pytest.raises(CheckpointError, match=r"got for 1 tokens log-probabilities that differ by \d"):
        check_graphs(model, folder)


def test_a_model_whose_shapes_depend_on_values_is_refused(tmp_path: Path) -> None:
    segments = {"kind": "segments", "boundaries": {"kind": "sentence"}}
    encoder = [{"attention": {"kind": "vanilla"}, "pool": segments}]
    sizes = {"dim": 16, "heads": 2, "feed_forward": 32, "source_length": 61, "target_length": 20}
    config = ModelConfig.model_validate({**sizes, "encoder": encoder, "decoder": {"layers": 1}})
    with pytest.raises(CheckpointError, match=r"--format onnx must have a model whose shapes follow from .* got: \S"):
        convert(SummarizationModel(config, 50).eval(), tmp_path)
