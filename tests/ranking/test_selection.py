import numpy as np

from sumpool.documents.source_sentences import SourceSentence
from sumpool.ranking.selection import find_candidates, select

TEXTS = ("Hosts send packets today.", "Hosts send packets now.", "Gateways drop frames.", "It is fast then.")


def test_candidates_are_sentences_of_prose_that_say_something() -> None:
    kinds = ("heading", "paragraph", "code", "list_item", "notice", "paragraph")
    texts = (
        "The hosts of it",
        "Hosts send packets today.",
        "for all in it",
        "Gateways drop it all",
        "All of us",
        "Go.",
    )
    sentences = [SourceSentence(text, 0, 1, 0, kind) for kind, text in zip(kinds, texts, strict=True)]  # type: ignore[arg-type]  # literals in a tuple
    assert find_candidates(sentences) == [1, 3]
    assert find_candidates([SourceSentence("\u4e3b\u673a\u53d1\u9001\u6570\u636e\u5305\u3002", 0, 8)]) == [0]


def test_the_best_sentences_are_selected_within_the_budget() -> None:
    scores = np.array([0.4, 0.1, 0.3, 0.2])
    assert select(TEXTS, scores, 7) == [0, 2]
    assert select(TEXTS, scores, 1) == [0]
    assert select(TEXTS, scores, 100) == [0, 2, 3, 1]
    assert select([], np.zeros(0), 10) == []


def test_a_sentence_that_repeats_a_selected_one_loses_score() -> None:
    scores = np.array([0.4, 0.35, 0.3, 0.0])
    assert select(TEXTS, scores, 8, redundancy=1.0) == [0, 2]
    assert select(TEXTS, scores, 8, redundancy=0.0) == [0, 1]


def test_sentences_that_are_worth_little_fill_half_of_the_budget_only() -> None:
    scores = np.array([0.4, 0.1, 0.3, 0.2])
    assert select(TEXTS, scores, 12, minimum=0.25) == [0, 2]
    assert select(TEXTS, scores, 12, minimum=0.5) == [0, 2]
    assert select(TEXTS, scores, 8, minimum=0.5) == [0]
