from pathlib import Path

import pytest

from sumpool.data.document_stats import DocumentStats
from sumpool.data.report import DataReport, Spread, summarize_split
from sumpool.errors import DataError


def figures(words: int, digest: int, leak: float = 0.5) -> DocumentStats:
    return DocumentStats(
        document_words=words,
        summary_words=10,
        document_tokens=100 * words,
        summary_tokens=words,
        coverage=0.5,
        density=2.0,
        leak=leak,
        novel=(0.1, 0.2, 0.3, 0.4),
        digest=digest,
    )


@pytest.fixture
def report() -> DataReport:
    train = [figures(100, digest=1), figures(50, digest=2, leak=0.1), figures(30, digest=2)]
    return DataReport(
        read=6,
        kept=4,
        rejected=2,
        vocabulary=400,
        splits={
            "train": summarize_split(train, (), None),
            "validation": summarize_split([figures(20, digest=2)], (1, 2, 2), 0.25),
            "test": summarize_split([], (1, 2, 2), 0.0),
        },
        notes=("a note",),
    )


def test_a_split_is_summed_up(report: DataReport) -> None:
    train, validation, test = report.splits.values()
    assert train.documents == 3
    assert train.summary_tokens == Spread(60, 34, 50, 90, 100)
    assert train.compression == pytest.approx(6)
    assert train.long_documents == pytest.approx(1 / 3)
    assert train.novel_ngrams == pytest.approx((0.1, 0.2, 0.3, 0.4))
    assert train.low_leak == pytest.approx(1 / 3)
    assert (train.duplicates, train.in_training) == (1, 0)
    assert (validation.in_training, validation.runs_in_training) == (1, 0.25)
    assert test.summary_words == Spread(0, 0, 0, 0, 0)


def test_the_report_comes_back_from_its_file(tmp_path: Path, report: DataReport) -> None:
    report.save(tmp_path)
    assert DataReport.load(tmp_path) == report


@pytest.mark.parametrize("content", [None, b"{}", b"\xff"])
def test_a_broken_report_is_named(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "report.json").write_bytes(content)
    with pytest.raises(DataError, match=r"report.json must be a data report, got: "):
        DataReport.load(tmp_path)


def test_the_table_has_a_column_for_each_split(report: DataReport) -> None:
    heading, *rows = report.rows()
    assert heading == ("", "train", "validation", "test")
    assert {len(row) for row in rows} == {4}
    assert rows[0] == ("documents", "3", "1", "0")
    assert ("tokens of a summary, mean", "60", "20", "0") in rows
    place = rows.index(("words of a document, mean", "60", "20", "0"))
    assert rows[place + 1][1:] == ("34 / 50 / 90", "20 / 20 / 20", "0 / 0 / 0")
    assert rows[place + 2][1:] == ("100", "20", "0")
    assert ("novel 1- / 2- / 3- / 4-grams", "10 / 20 / 30 / 40 %", "10 / 20 / 30 / 40 %", "-") in rows
    assert ("13-grams that training has too", "-", "25.0%", "0.0%") in rows
    assert max(len(cell) for row in rows for cell in row) < 40  # four columns fit beside each other
