import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from sumpool.documents.document import Document
from sumpool.errors import CheckpointError, Interrupted, RecipeError
from sumpool.inference.loading import load_model
from sumpool.inference.summary import Summary
from sumpool.inference.summary_file import SummaryFile
from sumpool.progress import Progress
from sumpool.workflows.summarize import summarize
from tests.conftest import story

DROPPED = ("seconds", "document_sha256")


def documents(count: int, longest: int = 20) -> list[Document]:
    return [Document(f"d{number}", story(number, 1 + number * 7 % longest)) for number in range(count)]


def without_seconds(summaries: list[Summary]) -> list[dict[str, object]]:
    lines = [json.loads(summary.as_json()) for summary in summaries]
    assert all(line.pop("seconds") >= 0 for line in lines)
    return lines


def test_every_document_gets_a_summary_in_order(run_folder: Path) -> None:
    told = documents(30)
    summaries = list(summarize(told, run_folder))
    assert [summary.id for summary in summaries] == [document.id for document in told]
    assert len({summary.summary for summary in summaries}) > 20
    for summary in summaries:
        assert summary.reason == ""
        assert summary.score is not None
        assert summary.score < 0
        assert 0 < summary.tokens_read <= 200
        words = summary.summary.split()
        runs = list(zip(words, words[1:], words[2:], strict=False))
        assert len(set(runs)) == len(runs)


def test_batches_change_no_summary(run_folder: Path) -> None:
    told = [*documents(8), Document("long", story(99, 60))]
    texts = []
    for batch_tokens in (1, 800, 10000):
        settings = ["summarize.beams=4", f"summarize.batch_tokens={batch_tokens}"]
        texts.append([summary.summary for summary in summarize(told, run_folder, overrides=settings)])
    assert texts[0] == texts[1] == texts[2]


def test_odd_documents_get_a_row(run_folder: Path) -> None:
    texts = ["x", ".", "😀👩‍👩‍👧", "שלום עולם", "汉字没有空格", "e" + "\u0301" * 500, "a" * 5000, "1.2.3." * 500]
    for summary in summarize([Document(text[:9], text) for text in texts], run_folder):
        assert bool(summary.summary) != bool(summary.reason), summary.id


def test_names_may_repeat(run_folder: Path) -> None:
    first, second = summarize([Document("same", story(1, 5)), Document("same", story(2, 5))], run_folder)
    assert first.id == second.id
    assert first.summary != second.summary


def test_a_cut_is_always_said(run_folder: Path) -> None:
    notes: list[str] = []
    truncate = ["summarize.on_overflow=truncate"]
    told = [Document("long", story(1, 60))]
    (summary,) = summarize(told, run_folder, overrides=truncate, report=lambda seen: notes.append(seen.note))
    assert summary.tokens_read == 200 < summary.tokens_total
    share = summary.tokens_read / summary.tokens_total
    assert [note for note in notes if note][1:] == [f"long: read 200 of {summary.tokens_total:,} tokens ({share:.0%})"]


def test_what_is_read_decides_the_summary(run_folder: Path) -> None:
    text = story(1, 60)
    loaded = load_model(run_folder)
    start = loaded.tokenizer.decode(loaded.tokenizer.encode(text)[:200])
    told = [Document("whole", text), Document("cut", text[: len(start)] + "x" * 100)]
    whole, cut = summarize(told, run_folder, overrides=["summarize.on_overflow=truncate"])
    assert whole.tokens_read == cut.tokens_read == 200
    assert whole.summary == cut.summary


def test_a_document_too_long_may_be_refused(run_folder: Path) -> None:
    told = [Document("long", story(1, 60)), Document("short", story(2, 5))]
    long, short = summarize(told, run_folder, overrides=["summarize.on_overflow=error"])
    assert long.reason.startswith("the document must have at most 200 tokens, got ")
    assert (long.summary, long.tokens_read) == ("", 0)
    assert short.summary


def test_progress_counts_to_the_end(run_folder: Path) -> None:
    seen: list[Progress] = []
    list(summarize(documents(5), run_folder, report=seen.append))
    counted = [(progress.done, progress.total) for progress in seen if not progress.note]
    assert counted == [(number, 5) for number in range(1, 6)]


def test_a_signal_stops_between_batches(run_folder: Path, tmp_path: Path) -> None:
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls > 2:
            raise Interrupted(2)

    out = tmp_path / "out.jsonl"
    write = partial(SummaryFile, out)
    settings = ["summarize.batch_tokens=1"]
    with pytest.raises(Interrupted, match="stopped by SIGINT"):
        list(summarize(documents(9), run_folder, overrides=settings, open_output=write, check=check))
    assert len(out.read_text().splitlines()) == 2


def test_a_file_is_resumed_where_it_was_torn(run_folder: Path, tmp_path: Path) -> None:
    told = [*documents(6), Document("d1", story(40, 3)), Document("é\udc80", story(41, 3))]
    whole = tmp_path / "whole.jsonl"
    expected = without_seconds(list(summarize(told, run_folder, open_output=partial(SummaryFile, whole))))
    identity = (tmp_path / "whole.jsonl.identity").read_bytes()
    lines = whole.read_bytes().splitlines(keepends=True)
    assert len(lines) == len(told)
    for keep in (0, 3, 8):
        torn = tmp_path / f"torn{keep}.jsonl"
        torn.write_bytes(b"".join(lines[:keep]) + (lines[keep][:20] if keep < 8 else b""))
        (tmp_path / f"{torn.name}.identity").write_bytes(identity)
        rest = list(summarize(told, run_folder, open_output=partial(SummaryFile, torn, resume=True)))
        assert [summary.id for summary in rest] == [document.id for document in told[keep:]]
        found = [json.loads(line) for line in torn.read_text().splitlines()]
        assert [{name: value for name, value in line.items() if name not in DROPPED} for line in found] == expected


def test_lines_are_written_as_they_are_done(run_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    settings = ["summarize.batch_tokens=1"]
    summaries = summarize(documents(4), run_folder, overrides=settings, open_output=partial(SummaryFile, out))
    for written in range(1, 4):
        summary = next(summaries)
        lines = out.read_text().splitlines()
        assert len(lines) == written
        row = json.loads(lines[-1])
        assert len(row.pop("document_sha256")) == 64
        assert row == json.loads(summary.as_json())


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
