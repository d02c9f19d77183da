from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.errors import CheckpointError
from sumpool.onnx.convert import convert
from sumpool.onnx.session import OnnxModel, check_graphs
from tests.onnx.searches import assert_equal_searches

COMMON = {"dim": 16, "heads": 2, "feed_forward": 32, "source_length": 61, "target_length": 20}
SELECTIVE = {
    "positions": "learned",
    "norm": "post",
    "embedding_norm": True,
    "encoder": [{"attention": {"kind": "sliding_window", "window": 8, "global_first": True}}],
    "decoder": {
        "layers": 1,
        "positions": "learned",
        "cross_attention": {"kind": "sentence", "sentences": 2, "selection": {"kind": "approximate"}},
    },
    "output": {"kind": "tied", "bias": True},
}


def random_model(parts: Mapping[str, Any]) -> SummarizationModel:
    torch.manual_seed(7)
    model = SummarizationModel(ModelConfig.model_validate({**COMMON, **parts}), 50).eval()
    with torch.no_grad():
        model.embedding.weight *= 3  # so that hypotheses differ by more than rounding
    return model


def test_a_search_over_the_graphs_of_a_selective_model_is_that_of_the_model(tmp_path: Path) -> None:
    model = random_model(SELECTIVE)
    convert(model, tmp_path)
    assert_equal_searches(model, OnnxModel(tmp_path, threads=1))
    check_graphs(model, tmp_path)
    bias = model.get_buffer("output.bias")
    bias[7] += 0.2
    with pytest.raises(CheckpointError, match=r"got for 1 tokens log-probabilities that differ by 0\.2"):
        check_graphs(model, tmp_path)


def test_a_model_whose_shapes_depend_on_values_is_refused(tmp_path: Path) -> None:
    segments = {"kind": "segments", "boundaries": {"kind": "sentence"}}
    model = random_model({"encoder": [{"attention": {"kind": "vanilla"}, "pool": segments}], "decoder": {"layers": 1}})
    with pytest.raises(CheckpointError, match=r"--format onnx must have a model whose shapes follow from .* got: \S"):
        convert(model, tmp_path)
