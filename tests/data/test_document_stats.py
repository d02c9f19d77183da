import pytest

from sumpool.data.document_stats import measure, text_digest
from sumpool.data.sources._base import Example
from sumpool.text.fragments import words


def test_figures_of_a_document() -> None:
    example = Example("a", "The quick brown fox, quick as ever, jumps.", "A quick brown dog jumps.", "train")
    figures = measure(example, words(example.document), document_tokens=20, summary_tokens=9)
    assert (figures.document_words, figures.summary_words) == (8, 5)
    assert (figures.document_tokens, figures.summary_tokens) == (20, 9)
    assert figures.coverage == pytest.approx(3 / 5)
    assert figures.density == pytest.approx((4 + 1) / 5)
    assert figures.novel == pytest.approx((2 / 5, 3 / 4, 1, 1))
    assert figures.leak == 0


def test_equal_texts_have_equal_digests() -> None:
    assert text_digest("ä" * 3) == text_digest("äää") != text_digest("aaa")
