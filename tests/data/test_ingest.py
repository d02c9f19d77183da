from collections.abc import Iterator
from pathlib import Path

import pytest

from sumpool.data.ingest import read
from sumpool.data.sources._base import Example, Reject, SourceConfig
from sumpool.errors import DataError, Interrupted
from sumpool.progress import Progress, silent


class CountConfig(SourceConfig):
    """As many documents as asked for, every tenth one bad."""

    kind: str = "count"
    documents: int

    def rows(self) -> Iterator[Example | Reject]:
        for number in range(self.documents):
            if number % 10 == 9:
                yield Reject(f"file:{number + 1}", "row must be good")
            else:
                yield Example(str(number), "document", "summary", "train" if number % 3 else "test")


def never() -> None:
    """Nobody asks to stop."""


def test_read_is_kept_and_rejected(tmp_path: Path) -> None:
    told: list[Progress] = []
    reading = read(CountConfig(documents=100).rows(), tmp_path, skip_bad_rows=True, report=told.append, check=never)
    assert (reading.kept, reading.rejected) == (90, 10)
    assert reading.documents == {"train": 60, "validation": 0, "test": 30}
    assert len((tmp_path / "rejects.jsonl").read_text().splitlines()) == 10
    assert (told[0].done, told[0].total) == (20, None)
    assert (told[-1].done, told[-1].total) == (100, 100)


def test_the_first_bad_row_stops(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"file:10: row must be good; mend it, or leave such rows out with --skip-bad"):
        read(CountConfig(documents=100).rows(), tmp_path, skip_bad_rows=False, report=silent, check=never)


def test_reading_can_be_stopped_at_every_row(tmp_path: Path) -> None:
    calls = 0

    def stop() -> None:
        nonlocal calls
        calls += 1
        if calls == 7:
            raise Interrupted(2)

    with pytest.raises(Interrupted):
        read(CountConfig(documents=100).rows(), tmp_path, skip_bad_rows=True, report=silent, check=stop)
