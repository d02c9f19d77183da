import numpy as np

from sumpool.evaluation.agreement import Agreement, ComparedSentences, RougeTokenizer
from sumpool.ranking.candidates import CandidateSentence
from sumpool.ranking.selection import select, select_by_agreement

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


def compared(*samples: str) -> ComparedSentences:
    return Agreement(samples, RougeTokenizer(stemmer=True).tokenize).compare(TEXTS)


def test_sentences_are_selected_while_samples_and_ranker_agree() -> None:
    none = np.zeros(4)
    assert select_by_agreement(candidates(), none, compared("gateways drop frames"), 3) == [2]
    assert select_by_agreement(candidates(), none, compared("plums"), 1) == []
    by_ranker = np.array([0.0, 0.0, 0.0, 0.9])
    assert select_by_agreement(candidates(), by_ranker, compared("plums"), 1) == [3]
    both = compared("hosts send packets today and gateways drop frames")
    assert sorted(select_by_agreement(candidates(), none, both, 8)) == [0, 2]
    assert len(select_by_agreement(candidates(), none, compared(*TEXTS), 4, maximum=1)) == 1


def test_the_ranker_counts_new_words_only() -> None:
    scores = np.array([0.5, 0.5, 0.0, 0.0])
    assert select_by_agreement(candidates(), scores, compared("hosts send packets today"), 4) == [0]
