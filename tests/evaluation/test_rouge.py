import random
from collections.abc import Callable
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from sumpool.evaluation.rouge import TYPES, Rouge, Score
from sumpool.text.sentences import SentenceSplitter

THEIRS = RougeScorer(list(TYPES), use_stemmer=True)

VOCABULARY = [
    *("the", "network", "protocols", "describe", "connections", "connected", "connecting", "hosts", "addresses", "a"),
    *("addressed", "routing", "routed", "of", "RFC-791", "naïve", "can't", "x25", "Generalizations", "3.14", "y"),
]


def lines(text: str) -> list[str]:
    return text.split("\n")


punkt = SentenceSplitter().split
OURS: dict[Callable[[str], list[str]], Rouge] = {
    split: Rouge(stemmer=True, split=split, splitter="any") for split in (lines, punkt)
}


def rouge(*, stemmer: bool = True) -> Rouge:
    return Rouge(stemmer=stemmer, split=lines, splitter="lines")


def random_text(generator: random.Random) -> str:
    sentences = generator.randint(0, 5)
    return "\n".join(" ".join(generator.choices(VOCABULARY, k=generator.randint(0, 15))) for _ in range(sentences))


@pytest.mark.parametrize("stemmer", [True, False])
def test_random_pairs_score_as_with_rouge_score(stemmer: bool) -> None:
    generator = random.Random(1)
    ours = rouge(stemmer=stemmer)
    theirs = RougeScorer(list(TYPES), use_stemmer=stemmer)
    total = 0.0
    for _ in range(200):
        summary, reference = random_text(generator), random_text(generator)
        got, expected = ours.score(summary, reference), theirs.score(reference, summary)
        for name in TYPES:
            assert astuple(got[name]) == pytest.approx(tuple(expected[name]), abs=1e-9)
            total += got[name].f1
    assert total > 20  # the pairs do overlap


@given(st.text(max_size=120), st.text(max_size=120))
def test_any_pair_scores_as_with_rouge_score(summary: str, reference: str) -> None:
    assert_equal_scores(summary, reference, lines)


def assert_equal_scores(summary: str, reference: str, split: Callable[[str], list[str]]) -> float:
    """Compare all scores with those of rouge-score on one sentence per line; return ROUGE-1."""
    got = OURS[split].score(summary, reference)
    one, two = ("\n".join(" ".join(line.split()) for line in split(text)) for text in (summary, reference))
    expected = THEIRS.score(two, one)
    for name in TYPES:
        assert astuple(got[name]) == pytest.approx(tuple(expected[name]), abs=1e-9)
    return got["rouge1"].f1


def test_summary_level_rouge_needs_sentences_on_lines() -> None:
    summary, reference = "hosts route. addresses change.", "addresses change. hosts route."
    together = Rouge(stemmer=True, split=lambda text: [text], splitter="none").score(summary, reference)
    apart = Rouge(stemmer=True, split=lambda text: text.replace(". ", ".|").split("|"), splitter="dots").score(
        summary, reference
    )
    assert together["rougeLsum"] == together["rougeL"] == apart["rougeL"] == Score(0.5, 0.5, 0.5)
    assert apart["rougeLsum"] == Score(1.0, 1.0, 1.0)


def test_a_line_break_inside_a_sentence_ends_no_sentence() -> None:
    whole = Rouge(stemmer=True, split=lambda text: [text], splitter="none")
    assert whole.score("c d\na b", "a b c d") == whole.score("c d a b", "a b c d")


def test_precision_and_recall_are_not_swapped() -> None:
    assert rouge().score("hosts", "hosts route packets today")["rouge1"] == Score(1.0, 0.25, 0.4)


def test_an_empty_summary_scores_zero() -> None:
    assert set(rouge().score("", "hosts route").values()) == {Score(0.0, 0.0, 0.0)}


def test_the_signature_names_every_setting() -> None:
    assert rouge().signature.startswith("rouge-score 0.1")
    assert "stem:porter (extensions of nltk)" in rouge().signature
    assert "stem:none" in rouge(stemmer=False).signature
    for part in ("F1", "words:a-z0-9, lower case", "L:whole text", "Lsum:lines"):
        assert part in rouge().signature
    unicode = Rouge(stemmer=True, split=lines, splitter="lines", tokenizer="unicode")
    assert "words:Unicode letters and digits, NFKC" in unicode.signature


def test_text_without_words_for_rouge_is_detected() -> None:
    assert rouge().has_words("RFC 791")
    assert not rouge().has_words("文書の要約 — Сводка")
