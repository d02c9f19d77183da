from pathlib import Path

import pytest
import torch

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.errors import CheckpointError
from sumpool.inference.loading import load_model
from sumpool.io.manifest import Manifest
from sumpool.onnx.convert import convert
from sumpool.onnx.graphs import OnnxModel, check_graphs
from sumpool.workflows.export_model import export_model
from tests.conftest import write_run
from tests.onnx.searches import assert_equal_searches

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
    assert_equal_searches(model, OnnxModel(folder, threads=1))
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
