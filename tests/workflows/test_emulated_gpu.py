"""`sumpool evaluate` on an emulated GPU, which refuses tensors of the host: the figures of the CPU."""

from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from sumpool.core.model import cuda_graph
from sumpool.data.config import Example
from sumpool.data.prepared_folder import write_manifest
from sumpool.data.shards import TextsWriter
from sumpool.evaluation.task import Results
from sumpool.progress import no_op
from sumpool.tasks.summarization.evaluate import evaluate_systems
from tests.conftest import story
from tests.core.emulated_gpu import emulated_gpu
from tests.core.model.test_cuda_graph import EagerGraph


@pytest.mark.slow
def test_summaries_are_scored_as_on_the_cpu(run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sumpool.inference.loading.quantize", Mock())  # packed weights are those of a CPU
    monkeypatch.setattr(cuda_graph, "capture_graph", EagerGraph())
    with TextsWriter(tmp_path / "prepared", "test") as texts:
        for number in range(4):
            texts.add(Example(str(number), story(number, 20), "Hosts send.", "test"))
    write_manifest(tmp_path / "prepared", {}, no_op)
    settings = (f"data.prepared={tmp_path / 'prepared'}", "summarize.precision=fp32")
    evaluate_systems([run_folder], overrides=settings, results=Results(tmp_path / "cpu"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with emulated_gpu() as gpu:
        evaluate_systems([run_folder], overrides=settings, results=Results(tmp_path / "gpu"))
    assert gpu.copies, "nothing was computed on the device"
    expected, actual = ((tmp_path / name / "documents.jsonl").read_text() for name in ("cpu", "gpu"))
    assert len(actual.splitlines()) == 4
    assert actual == expected
