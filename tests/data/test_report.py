from pathlib import Path

import pytest

from sumpool.data.config import SPLITS, Example, Split
from sumpool.data.report import (
    DataReport,
    DocumentStats,
    LengthStats,
    document_stats,
    documents_in_training,
    summarize_split,
)
from sumpool.data.shards import TextsWriter
from sumpool.errors import DataError
from sumpool.text.language import split_words


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
            "train": summarize_split(train, ()),
            "validation": summarize_split([stats(20, digest=2)], (1, 2, 2)),
            "test": summarize_split([], (1, 2, 2)),
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
    assert validation.in_training == 1
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
    assert ("documents also in training", "0", "1", "0") in rows
    assert max(len(row[0]) for row in rows) <= 28
    assert max(len(cell) for row in rows for cell in row[1:]) <= 22  # with two spaces between columns: 100


def test_statistics_of_a_document() -> None:
    example = Example("a", "The quick brown fox, quick as ever, jumps.", "A quick brown fox jumps.", "train")
    stats = document_stats(example, split_words(example.document), document_tokens=20, summary_tokens=9)
    assert (stats.document_words, stats.summary_words) == (8, 5)
    assert (stats.document_tokens, stats.summary_tokens) == (20, 9)
    assert stats.coverage == pytest.approx(4 / 5)
    assert stats.density == pytest.approx((9 + 1) / 5)
    assert stats.novel == pytest.approx((1 / 5, 2 / 4, 2 / 3, 1))
    assert stats.leak == 0


def test_documents_with_the_text_of_a_training_document_are_named(tmp_path: Path) -> None:
    texts: dict[Split, list[str]] = {"train": ["a", "b"], "validation": ["c", "b", "a"], "test": ["d"]}
    for split in SPLITS:
        with TextsWriter(tmp_path, split) as writer:
            for number, document in enumerate(texts[split]):
                writer.add(Example(f"{split}{number}", document, "s", split))
    assert documents_in_training(tmp_path, "validation") == ["validation1", "validation2"]
    assert documents_in_training(tmp_path, "test") == []
