import pytest
import torch

from sumpool.cli.summary_output import choose_jobs
from sumpool.documents.document import Document
from sumpool.inference import parallel
from sumpool.inference.parallel import usual_jobs
from sumpool.progress import Progress

GIB = 2**30


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU with eight cores and 6.5 GiB of free memory."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    monkeypatch.setattr(parallel, "choose_device", lambda _: torch.device("cpu"))
    monkeypatch.setattr(parallel, "available", lambda _: 13 * GIB // 2)


@pytest.mark.usefixtures("machine")
def test_jobs_follow_documents_memory_and_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [usual_jobs(count) for count in (0, 31, 32, 63, 64, 1000)] == [1, 1, 2, 3, 4, 6]
    monkeypatch.setattr(parallel, "available", lambda _: 100 * GIB)
    assert usual_jobs(1000) == 8
    monkeypatch.setattr(parallel, "available", lambda _: 0)
    assert usual_jobs(1000) == 1
    monkeypatch.setattr(parallel, "choose_device", lambda _: torch.device("cuda"))
    assert usual_jobs(1000) == 1


@pytest.mark.usefixtures("machine")
def test_few_documents_and_streams_take_one_process() -> None:
    reported: list[Progress] = []
    documents = [Document(str(number), "Hosts.") for number in range(40)]
    assert choose_jobs(documents, is_fast=False, report=reported.append) == 2
    assert [progress.note for progress in reported] == ["2 processes; --jobs 1 takes less memory"]
    assert choose_jobs(documents[:31], is_fast=False, report=reported.append) == 1
    assert choose_jobs(documents, is_fast=True, report=reported.append) == 1
    assert choose_jobs(iter(documents), is_fast=False, report=reported.append) == 1
    assert len(reported) == 1
