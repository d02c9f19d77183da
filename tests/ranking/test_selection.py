import numpy as np

from sumpool.ranking.candidates import CandidateSentence
from sumpool.ranking.selection import select

TEXTS = ("Hosts send packets today.", "Hosts send packets now.", "Gateways drop frames.", "It is fast then.")


def candidates(**predecessors: int) -> list[CandidateSentence]:
    return [
        CandidateSentence(text, index, index, predecessor=predecessors.get(f"of_{index}"))
        for index, text in enumerate(TEXTS)
    ]


def test_the_best_sentences_are_selected_within_the_budget() -> None:
    scores = np.array([0.4, 0.1, 0.3, 0.2])
    assert select(candidates(), scores, 7) == [0, 2]
    assert select(candidates(), scores, 1) == [0]
    assert select(candidates(), scores, 100) == [0, 2, 3, 1]
    assert select([], np.zeros(0), 10) == []


def test_a_sentence_that_repeats_a_selected_one_loses_score() -> None:
    scores = np.array([0.4, 0.35, 0.3, 0.0])
    assert select(candidates(), scores, 8, redundancy=1.0) == [0, 2]
    assert select(candidates(), scores, 8, redundancy=0.0) == [0, 1]


def test_a_sentence_brings_the_predecessor_that_it_refers_to() -> None:
    scores = np.array([0.0, 0.1, 0.2, 0.9])
    assert select(candidates(of_3=2), scores, 7) == [2, 3]
