from collections.abc import Iterator
from pathlib import Path

import pytest

from sumpool.data.ingest import ingest
from sumpool.data.sources._base import Example, Reject, SourceConfig
from sumpool.data.texts import Texts
from sumpool.errors import Interrupted
from sumpool.progress import Progress, no_op


class CountConfig(SourceConfig):
    """A given number of rows, every tenth of which is rejected."""

    kind: str = "count"
    documents: int

    def rows(self) -> Iterator[Example | Reject]:
        for number in range(self.documents):
            if number % 10 == 9:
                yield Reject(f"file:{number + 1}", "row must be good")
            else:
                yield Example(str(number), "document", "summary", "train" if number % 3 else "test")


def never() -> None:
    """Never stop."""


def test_every_row_is_kept_or_rejected(tmp_path: Path) -> None:
    reports: list[Progress] = []
    ingested = ingest(
        CountConfig(documents=100).rows(), tmp_path, skip_bad_rows=True, report=reports.append, check=never
    )
    assert (ingested.kept, ingested.rejected) == (90, 10)
    assert ingested.documents == {"train": 60, "validation": 0, "test": 30}
    assert len((tmp_path / "rejects.jsonl").read_text().splitlines()) == 10
    assert (reports[0].done, reports[0].total) == (20, None)
    assert (reports[-1].done, reports[-1].total) == (100, 100)


def test_accents_are_composed(tmp_path: Path) -> None:
    rows = iter([Example("a", "cafe\u0301", "u\u0308ber", "train", "e\u0300")])
    ingest(rows, tmp_path, skip_bad_rows=False, report=no_op, check=never)
    [row] = Texts.open(tmp_path, "train")
    assert (row.document, row.summary, row.second) == ("café", "über", "è")


def test_check_is_called_for_every_row(tmp_path: Path) -> None:
    calls = 0

    def stop() -> None:
        nonlocal calls
        calls += 1
        if calls == 7:
            raise Interrupted(2)

    with pytest.raises(Interrupted):
        ingest(CountConfig(documents=100).rows(), tmp_path, skip_bad_rows=True, report=no_op, check=stop)
