import random
from dataclasses import astuple

import pytest
from rouge_score.rouge_scorer import RougeScorer

from sumpool.evaluation.rouge import TYPES, Rouge, Score

VOCABULARY = [
    *("the", "network", "protocols", "describe", "connections", "connected", "connecting", "hosts", "addresses", "a"),
    *("addressed", "routing", "routed", "of", "RFC-791", "naïve", "can't", "x25", "Generalizations", "3.14", "y"),
]


def lines(text: str) -> list[str]:
    return text.split("\n")


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
    for _ in range(1000):
        summary, reference = random_text(generator), random_text(generator)
        got, expected = ours.score(summary, reference), theirs.score(reference, summary)
        for name in TYPES:
            assert astuple(got[name]) == pytest.approx(tuple(expected[name]), abs=1e-9)
            total += got[name].f1
    assert total > 100  # the pairs do overlap


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
    assert "stem:porter (nltk 3." in rouge().signature
    assert "stem:none" in rouge(stemmer=False).signature
    for part in ("F1", "words:a-z0-9, lower case", "L:whole text", "Lsum:lines"):
        assert part in rouge().signature
    unicode = Rouge(stemmer=True, split=lines, splitter="lines", tokenizer="unicode")
    assert "words:Unicode letters and digits, NFKC" in unicode.signature


def test_text_without_words_for_rouge_is_detected() -> None:
    assert rouge().has_words("RFC 791")
    assert not rouge().has_words("文書の要約 — Сводка")
