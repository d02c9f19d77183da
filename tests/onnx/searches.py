"""Searches over ONNX graphs beside those over the model."""

import pytest
import torch

from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import Lengths, Ranking
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.onnx.graphs import OnnxModel


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
