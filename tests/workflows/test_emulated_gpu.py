"""`sumpool evaluate` on an emulated GPU, which refuses tensors of the host: the figures of the CPU."""

from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from sumpool.core.model import cuda_graph
from sumpool.evaluation.task import Results
from sumpool.tasks.summarization.evaluate import evaluate_systems
from sumpool.workflows.faithfulness import evaluate_faithfulness
from tests.core.emulated_gpu import emulated_gpu
from tests.core.model.test_cuda_graph import EagerGraph
from tests.workflows.test_faithfulness import prepared, run

__all__ = ["run"]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.setattr("sumpool.inference.loading.quantize", Mock())  # packed weights are those of a CPU
    monkeypatch.setattr(cuda_graph, "capture_graph", EagerGraph())
    return (*prepared(tmp_path), "summarize.precision=fp32")


@pytest.mark.slow
def test_summaries_are_scored_as_on_the_cpu(
    run: Path, tmp_path: Path, settings: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate_systems([run], overrides=settings, results=Results(tmp_path / "cpu"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with emulated_gpu() as gpu:
        evaluate_systems([run], overrides=settings, results=Results(tmp_path / "gpu"))
    assert gpu.copies, "nothing was computed on the device"
    expected, actual = ((tmp_path / name / "documents.jsonl").read_text() for name in ("cpu", "gpu"))
    assert len(actual.splitlines()) == 4
    assert actual == expected


@pytest.mark.slow
def test_faithfulness_is_that_of_the_cpu(run: Path, settings: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = evaluate_faithfulness(run, overrides=settings, limit=1)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with emulated_gpu() as gpu:
        actual = evaluate_faithfulness(run, overrides=settings, limit=1)
    assert gpu.copies, "nothing was computed on the device"
    for one, other in zip(actual.rows, expected.rows, strict=True):
        assert (one.method, one.documents, one.tokens) == (other.method, other.documents, other.tokens)
        assert one.top.mean == pytest.approx(other.top.mean, abs=1e-4)
        assert one.random.mean == pytest.approx(other.random.mean, abs=1e-4)
