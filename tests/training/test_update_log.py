import math
from pathlib import Path

import pytest
import torch

from sumpool.errors import NonFiniteError
from sumpool.progress import Progress
from sumpool.training.journal import Journal, PendingUpdate, UpdateLog
from sumpool.training.processes import Processes
from sumpool.training.update import PendingMetrics, UpdateSize


def pending(step: int, loss: float = 1.0, imbalance: float | None = None) -> PendingUpdate:
    metrics = PendingMetrics(torch.tensor([loss, 1.0, 2.0]), [], UpdateSize(10, 2, 100, imbalance))
    return PendingUpdate(step, ("a", "b"), 0.1, 0.0, metrics)


def test_an_update_is_logged_with_the_next_one(tmp_path: Path) -> None:
    journal, shown = Journal(tmp_path / "metrics.jsonl"), list[Progress]()
    log = UpdateLog(journal, 5, shown.append, Processes())
    log.append(pending(1))
    assert not shown
    log.append(pending(2, imbalance=0.25))
    assert [progress.done for progress in shown] == [1]
    log.flush()
    log.flush()
    first, second = journal.read()
    assert (first["step"], first["target_tokens"], "imbalance" in first) == (1, 10, False)
    assert (second["step"], second["imbalance"]) == (2, 0.25)
    assert shown[1].metrics["imbalance"] == 0.25


def test_only_the_first_process_writes_the_metrics_log(tmp_path: Path) -> None:
    shown = list[Progress]()
    log = UpdateLog(Journal(tmp_path / "metrics.jsonl"), 5, shown.append, Processes(1, 2))
    log.append(pending(1, imbalance=0.0))
    log.flush()
    assert shown
    assert not (tmp_path / "metrics.jsonl").exists()


def test_a_loss_that_is_not_finite_names_its_documents(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "metrics.jsonl")
    log = UpdateLog(journal, 5, lambda _: None, Processes())
    log.append(pending(3, math.nan))
    with pytest.raises(NonFiniteError, match=r"step 3 must be finite, got loss nan.*\(a, b\)"):
        log.flush()
    assert journal.read()[0]["documents"] == ["a", "b"]
