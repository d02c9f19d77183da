import pytest
import torch

from sumpool.cli.summarize import choose_jobs
from sumpool.documents.document import Document
from sumpool.io.manifest import SHIPPED
from sumpool.progress import Progress, no_op
from sumpool.training import hardware

GIB = 2**30


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU with eight cores and 6.5 GiB of free memory."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    monkeypatch.setattr(hardware, "choose_device", lambda _: torch.device("cpu"))
    monkeypatch.setattr(hardware, "available", lambda _: 13 * GIB // 2)


def jobs_of(count: int, *overrides: str) -> int:
    return choose_jobs([Document(str(number), "Hosts.") for number in range(count)], SHIPPED, overrides, no_op)


@pytest.mark.usefixtures("machine")
def test_jobs_follow_documents_memory_and_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [jobs_of(count) for count in (0, 31, 32, 63, 64, 1000)] == [1, 1, 2, 3, 4, 6]
    monkeypatch.setattr(hardware, "available", lambda _: 100 * GIB)
    assert jobs_of(1000) == 8
    monkeypatch.setattr(hardware, "available", lambda _: 0)
    assert jobs_of(1000) == 1
    monkeypatch.setattr(hardware, "choose_device", lambda _: torch.device("cuda"))
    assert jobs_of(1000) == 1


@pytest.mark.usefixtures("machine")
def test_few_documents_streams_and_fast_summaries_take_one_process() -> None:
    reported: list[Progress] = []
    documents = [Document(str(number), "Hosts.") for number in range(40)]
    assert choose_jobs(documents, SHIPPED, (), reported.append) == 2
    assert [progress.note for progress in reported] == ["2 processes; --jobs 1 takes less memory"]
    assert choose_jobs(documents[:31], SHIPPED, (), reported.append) == 1
    assert choose_jobs(documents, SHIPPED, ["summarize.fast=true"], reported.append) == 1
    assert choose_jobs(iter(documents), SHIPPED, (), reported.append) == 1
    assert len(reported) == 1
