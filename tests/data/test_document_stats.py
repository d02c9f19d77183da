import pytest

from sumpool.data.document_stats import document_stats, text_digest
from sumpool.data.sources._base import Example
from sumpool.text.language import split_words


def test_statistics_of_a_document() -> None:
    example = Example("a", "The quick brown fox, quick as ever, jumps.", "A quick brown dog jumps.", "train")
    stats = document_stats(example, split_words(example.document), document_tokens=20, summary_tokens=9)
    assert (stats.document_words, stats.summary_words) == (8, 5)
    assert (stats.document_tokens, stats.summary_tokens) == (20, 9)
    assert stats.coverage == pytest.approx(3 / 5)
    assert stats.density == pytest.approx((4 + 1) / 5)
    assert stats.novel == pytest.approx((2 / 5, 3 / 4, 1, 1))
    assert stats.leak == 0


def test_digests_are_equal_for_equal_texts() -> None:
    assert text_digest("ä" * 3) == text_digest("äää") != text_digest("aaa")
