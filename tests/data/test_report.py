import json
from pathlib import Path

import pytest

from sumpool.data.document_stats import DocumentStats, summarize_split
from sumpool.data.report import DataReport, LengthStats
from sumpool.errors import DataError


def stats(words: int, digest: int, leak: float = 0.5) -> DocumentStats:
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
    train = [stats(100, digest=1), stats(50, digest=2, leak=0.1), stats(30, digest=2)]
    return DataReport(
        read=6,
        kept=4,
        rejected=2,
        vocabulary=400,
        splits={
            "train": summarize_split(train, (), None),
            "validation": summarize_split([stats(20, digest=2)], (1, 2, 2), 0.25),
            "test": summarize_split([], (1, 2, 2), 0.0),
        },
        notes=("a note",),
    )


def test_split_statistics_are_aggregated(report: DataReport) -> None:
    train, validation, test = report.splits.values()
    assert train.documents == 3
    assert train.summary_tokens == LengthStats(60, 34, 50, 90, 100)
    assert train.compression == pytest.approx(6)
    assert train.long_documents == pytest.approx(1 / 3)
    assert train.novel_ngrams == pytest.approx((0.1, 0.2, 0.3, 0.4))
    assert train.low_leak == pytest.approx(1 / 3)
    assert (train.duplicates, train.in_training) == (1, 0)
    assert (validation.in_training, validation.runs_in_training) == (1, 0.25)
    assert test.summary_words == LengthStats(0, 0, 0, 0, 0)


@pytest.mark.parametrize("content", [None, b"{}", b"\xff"])
def test_invalid_report_is_an_error(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "report.json").write_bytes(content)
    with pytest.raises(DataError, match=r"report.json must be a data report, got: "):
        DataReport.load(tmp_path)


def test_table_has_a_column_per_split(report: DataReport) -> None:
    heading, *rows = report.rows()
    assert heading == ("", "train", "validation", "test")
    assert {len(row) for row in rows} == {4}
    assert rows[0] == ("documents", "3", "1", "0")
    assert ("tokens per summary, mean", "60", "20", "0") in rows
    index = rows.index(("words per document, mean", "60", "20", "0"))
    assert rows[index + 1] == ("  10th/50th/90th percentile", "34 / 50 / 90", "20 / 20 / 20", "0 / 0 / 0")
    assert rows[index + 2][1:] == ("100", "20", "0")
    assert ("novel 1/2/3/4-grams", "10 / 20 / 30 / 40 %", "10 / 20 / 30 / 40 %", "-") in rows
    assert ("13-grams also in training", "-", "25.0%", "0.0%") in rows
    assert max(len(row[0]) for row in rows) <= 28
    assert max(len(cell) for row in rows for cell in row[1:]) <= 22  # with two spaces between columns: 100


def test_reports_without_a_language_are_of_english_data(tmp_path: Path, report: DataReport) -> None:
    report.save(tmp_path)
    assert DataReport.load(tmp_path) == report
    path = tmp_path / "report.json"
    fields = json.loads(path.read_text())
    del fields["language"]
    path.write_text(json.dumps(fields))
    assert DataReport.load(tmp_path).language == "en"
