import json
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from sumpool.data import prepare as module
from sumpool.data.config import DataConfig, Example, Reject
from sumpool.data.prepare import ingest, read_rows
from sumpool.data.pretraining_tasks import excerpts
from sumpool.data.processes import ordered_map
from sumpool.data.shards import Texts
from sumpool.errors import DataError, Interrupted
from sumpool.progress import Check, Progress, no_op
from tests.conftest import story


def rows(count: int) -> Iterator[Example | Reject]:
    """A number of rows, every tenth of which is rejected."""
    for number in range(count):
        if number % 10 == 9:
            yield Reject(f"file:{number + 1}", "row must be good")
        else:
            yield Example(str(number), "document", "summary", "train" if number % 3 else "test")


def test_every_row_is_kept_or_rejected(tmp_path: Path) -> None:
    reports: list[Progress] = []
    documents, rejected, invisible = ingest(rows(100), tmp_path, skip_bad_rows=True, report=reports.append, check=no_op)
    assert (rejected, invisible) == (10, 0)
    assert documents == {"train": 60, "validation": 0, "test": 30}
    assert len((tmp_path / "rejects.jsonl").read_text().splitlines()) == 10
    assert (reports[0].done, reports[0].total) == (20, None)
    assert (reports[-1].done, reports[-1].total) == (100, 100)


def test_rows_that_cannot_be_used_are_errors_or_skipped(tmp_path: Path) -> None:
    for row, reason in [
        (Example("d1", "text", "text", "train", where="rows:2"), "^rows:2: id must be unique, got 'd1' a second time"),
        (Example("new", " \n", "text", "train"), r"document 'new': document must contain text, got ' \\n'; correct it"),
        (Example("new", "text", "", "train"), "document 'new': summary must contain text, got ''"),
        (Example("new", "te\ud800xt", "text", "train"), "document 'new': text must be valid Unicode, .* at 2"),
        (Example("\udfff", "text", "text", "train"), r"document '\\udfff': text must be valid Unicode"),
    ]:
        both = [Example("d1", "text", "text", "test"), row]
        with pytest.raises(DataError, match=reason):
            ingest(iter(both), tmp_path, skip_bad_rows=False, report=no_op, check=no_op)
        with pytest.raises(DataError, match="must have a training document, got 2 rows"):
            ingest(iter(both), tmp_path, skip_bad_rows=True, report=no_op, check=no_op)


def test_accents_are_composed(tmp_path: Path) -> None:
    decomposed = iter([Example("a", "cafe\u0301", "u\u0308ber", "train", "e\u0300")])
    ingest(decomposed, tmp_path, skip_bad_rows=False, report=no_op, check=no_op)
    [row] = Texts(tmp_path, "train")
    assert (row.document, row.summary, row.second) == ("café", "über", "è")


def test_check_is_called_for_every_row(tmp_path: Path) -> None:
    stop = Mock(side_effect=[None] * 6 + [Interrupted(2)])
    with pytest.raises(Interrupted):
        ingest(rows(100), tmp_path, skip_bad_rows=True, report=no_op, check=stop)
    assert stop.call_count == 7


ROWS = 30
TASKS = ({"gap_sentences": {"words": 20, "window": 100}}, {"shuffled": {"words": 40}})


@pytest.fixture(autouse=True)
def spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several spans of few rows."""
    monkeypatch.setattr(module, "_SPAN_CHARACTERS", 5000)


def config(folder: Path, task: dict[str, Any]) -> DataConfig:
    """A source of which one row ends in an unpaired surrogate, and one is damaged."""
    rows = [{"id": f"d{number}", "document": story(number, 30), "summary": "A summary."} for number in range(ROWS)]
    rows[3]["document"] += "\ud800"
    rows[4]["document"] += " e\u0301 \u2028 \x00"
    lines = [json.dumps(row) for row in rows]
    lines[20] = "{broken"
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n")
    source = {"kind": "jsonl", "path": folder / "train.jsonl"}
    return DataConfig.model_validate({"source": source, "vocabulary": 300, **task})


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("task", TASKS, ids=lambda task: next(iter(task)))
def test_rows_are_those_that_are_read_one_at_a_time(
    task: dict[str, Any], workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SMALL_SPANS", 1 if workers else 1 << 30)
    data = config(tmp_path, task)
    found = list(read_rows(data, no_op))
    converts = data.gap_sentences or data.shuffled
    assert converts is not None
    assert found == excerpts(converts, data.require_source().rows())
    assert len(found) > ROWS
    places = [row.where.rpartition(":")[2] for row in found if isinstance(row, Reject)]
    assert places == ["4", "21"]


def test_small_files_need_no_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def execute(build: Callable[[], Any], tasks: Iterable[Any], workers: int, check: Check) -> Generator[Any]:
        asked.append(workers)
        return ordered_map(build, tasks, 0, check)

    monkeypatch.setattr(module, "ordered_map", execute)
    for small in (1, 1 << 30):
        monkeypatch.setattr(module, "_SMALL_SPANS", small)
        list(read_rows(config(tmp_path, TASKS[1]), no_op))
    assert asked == [2, 0]


def test_a_signal_stops_while_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ordered_map", Mock(side_effect=AssertionError("no row is converted")))
    with pytest.raises(Interrupted):
        next(read_rows(config(tmp_path, TASKS[1]), Mock(side_effect=Interrupted(2))))
