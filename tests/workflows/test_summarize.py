import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import torch

from sumpool.cli.summarize import _count, choose_jobs
from sumpool.documents.document import Document
from sumpool.errors import CheckpointError, DataError, Interrupted, RecipeError
from sumpool.inference.summary_file import SummaryFile
from sumpool.io.manifest import SHIPPED
from sumpool.progress import Progress, no_op
from sumpool.training import hardware
from sumpool.workflows.summarize import summarize
from tests.conftest import Stop, read_lines, story


def documents(count: int, longest: int = 20) -> list[Document]:
    return [Document(f"d{number}", story(number, 1 + number * 7 % longest)) for number in range(count)]


def test_every_document_gets_a_summary_in_order(run_folder: Path) -> None:
    told = documents(30)
    summaries = list(summarize(told, run_folder))
    assert [summary.id for summary in summaries] == [document.id for document in told]
    assert len({summary.text for summary in summaries}) > 20
    for summary in summaries:
        assert summary.reason == ""
        assert summary.score is not None
        assert summary.score < 0
        assert 0 < summary.tokens_read <= 200
        words = summary.text.split()
        runs = list(zip(words, words[1:], words[2:], strict=False))
        assert len(set(runs)) == len(runs)


def test_odd_documents_get_a_row(run_folder: Path) -> None:
    texts = ["x", ".", "😀👩‍👩‍👧", "שלום עולם", "汉字没有空格", "e" + "\u0301" * 500, "a" * 5000, "1.2.3." * 500]
    for summary in summarize([Document(text[:9], text) for text in texts], run_folder):
        assert bool(summary.text) != bool(summary.reason), summary.id


def test_a_document_too_long_may_be_refused(run_folder: Path) -> None:
    told = [Document("long", story(1, 60)), Document("short", story(2, 5))]
    long, short = summarize(told, run_folder, overrides=["summarize.on_overflow=error"])
    assert long.reason.startswith("the document must have at most 200 tokens, got ")
    assert (long.text, long.tokens_read) == ("", 0)
    assert short.text


def test_progress_counts_to_the_end(run_folder: Path) -> None:
    seen: list[Progress] = []
    list(summarize(documents(5), run_folder, report=seen.append))
    counted = [(progress.done, progress.total) for progress in seen if not progress.note]
    assert counted == [(number, 5) for number in range(1, 6)]


def test_a_signal_stops_between_batches(run_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    write = partial(SummaryFile, out)
    settings = ["summarize.batch_tokens=1"]
    with pytest.raises(Interrupted, match="stopped by SIGTERM"):
        list(summarize(documents(9), run_folder, overrides=settings, open_output=write, check=Stop(3)))
    assert len(out.read_text().splitlines()) == 2


def test_a_file_is_resumed_where_it_was_torn(run_folder: Path, tmp_path: Path) -> None:
    told = [*documents(6), Document("d1", story(40, 3)), Document("é\udc80", story(41, 3))]
    whole = tmp_path / "whole.jsonl"
    summaries = summarize(told, run_folder, open_output=partial(SummaryFile, whole))
    expected = [json.loads(summary.as_json()) | {"seconds": 0} for summary in summaries]
    identity = (tmp_path / "whole.jsonl.identity").read_bytes()
    lines = whole.read_bytes().splitlines(keepends=True)
    assert len(lines) == len(told)
    for keep in (0, 3, 8):
        torn = tmp_path / f"torn{keep}.jsonl"
        torn.write_bytes(b"".join(lines[:keep]) + (lines[keep][:20] if keep < 8 else b""))
        (tmp_path / f"{torn.name}.identity").write_bytes(identity)
        rest = list(summarize(told, run_folder, open_output=partial(SummaryFile, torn, resume=True)))
        assert [summary.id for summary in rest] == [document.id for document in told[keep:]]
        found = [row | {"seconds": 0} for row in read_lines(torn)]
        assert [{name: row[name] for name in expected[0]} for row in found] == expected


def test_what_is_wrong_shows_before_a_document_is_read(run_folder: Path, tmp_path: Path) -> None:
    def never() -> Iterator[Document]:
        raise AssertionError
        yield Document("", "")

    with pytest.raises(CheckpointError, match="must be a run folder"):
        summarize(never(), tmp_path)
    with pytest.raises(RecipeError, match=r"summarize\.beams"):
        summarize(never(), run_folder, overrides=["summarize.beams=0"])
    (tmp_path / "out.jsonl").touch()
    with pytest.raises(RecipeError, match=r"out\.jsonl must not exist yet; add --resume"):
        summarize(never(), run_folder, open_output=partial(SummaryFile, tmp_path / "out.jsonl"))


GIB = 2**30


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU with eight cores and 6.5 GiB of free memory."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    monkeypatch.setattr(hardware, "choose_device", lambda _: torch.device("cpu"))
    monkeypatch.setattr(hardware, "available", lambda _: 13 * GIB // 2)


def jobs_of(count: int, *overrides: str) -> int:
    return choose_jobs(count, SHIPPED, overrides, no_op)


@pytest.mark.usefixtures("machine")
def test_jobs_follow_documents_memory_and_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [jobs_of(count) for count in (0, 31, 32, 63, 64, 1000)] == [1, 1, 2, 3, 4, 6]
    monkeypatch.setattr(hardware, "available", lambda _: 100 * GIB)
    assert jobs_of(1000) == 8
    monkeypatch.setattr(hardware, "available", lambda _: 0)
    assert jobs_of(1000) == 1
    monkeypatch.setattr(hardware, "choose_device", lambda _: torch.device("cuda"))
    assert jobs_of(1000) == 1


def test_documents_are_counted_without_the_end_of_a_file_or_any_of_a_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    (rows := tmp_path / "rows.jsonl").touch()
    stream = iter(documents(40))
    count, counted = _count([str(rows)], stream)
    assert count == 32
    assert len(list(stream)) == 8
    assert [document.id for document in counted] == [f"d{number}" for number in range(32)]
    assert _count([str(rows), str(tmp_path)], documents(5))[0] == 5
    stream = iter(documents(40))
    assert _count(["-", str(rows)], stream) == (0, stream)

    def damaged() -> Iterator[Document]:
        yield from documents(3)
        raise DataError("rows.jsonl must be complete")

    count, counted = _count([str(rows)], damaged())
    assert count == 3
    rest = iter(counted)
    assert [next(rest).id for _ in range(3)] == ["d0", "d1", "d2"]
    with pytest.raises(DataError, match="must be complete"):
        next(rest)


@pytest.mark.usefixtures("machine")
def test_few_documents_take_one_process_and_fast_summaries_two(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[Progress] = []
    assert choose_jobs(40, SHIPPED, (), reported.append) == 2
    assert [progress.note for progress in reported] == ["2 processes; --jobs 1 takes less memory"]
    assert choose_jobs(31, SHIPPED, ["summarize.fast=true"], reported.append) == 1
    assert len(reported) == 1
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert jobs_of(1000, "summarize.fast=true") == 2
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    assert jobs_of(1000, "summarize.fast=true") == 1
