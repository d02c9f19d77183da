from typing import Any

import numpy as np

from sumpool.ranking.candidates import CandidateSentence
from sumpool.ranking.sentence_ranking import _frame_centrality, rank, select
from sumpool.text.word_graph import SentenceWords

TEXTS = (
    "The host sends a packet to the gateway of the network.",
    "Apples and plums fall from the trees in the garden.",
    "The gateway of the network drops a packet of the host.",
    "Old songs are sung by the people in the village.",
)


def candidates(*texts: str, predecessors: dict[int, int] | None = None) -> list[CandidateSentence]:
    links = predecessors or {}
    return [CandidateSentence(text, index, index + 1, predecessor=links.get(index)) for index, text in enumerate(texts)]


def test_central_sentences_are_ranked_above_others() -> None:
    scores = rank(candidates(*TEXTS), "", "en")
    assert scores[0] > scores[1]
    assert scores[2] > scores[3]


def test_the_title_decides_between_equal_sentences() -> None:
    assert rank(candidates(*TEXTS), "Apples and plums", "en")[1] > rank(candidates(*TEXTS), "Songs", "en")[1]


SONGS = "describes all of the songs."
LICENCE: dict[str, Any] = {"genre": "licence"}
ORDERED: list[tuple[float, str, str, str, dict[str, Any]]] = [
    (0.5, f"This manual {SONGS}", f"That village {SONGS}", "", {}),
    (0.5, "Dieses Handbuch beschreibt die Lieder.", "Dieses Dorf beschreibt die Lieder.", "", {"language": "de"}),
    (
        0.5,
        "\u672c\u624b\u518c\u63cf\u8ff0\u6b4c\u66f2\u3002",
        "\u6751\u5e84\u63cf\u8ff0\u6b4c\u66f2\u3002",
        "",
        {"language": "zh"},
    ),
    (1, "Apples are the fruits of all trees.", "Apples fall from the old trees.", "Apples", {}),
    (0.5, "Villages print versions of the old songs.", "Print a version of the old songs.", "", {}),
    (0.5, "Villages return songs of the village.", "Returns the songs of the village.", "", {}),
    (0.5, "All songs of the village are old.", "The songs of the village are old.", "", {}),
    (3, "The songs are all of the songs.", "The songs mean all of the songs.", "", LICENCE),
    (1.5, "The copies must hold all of the songs.", "The copies do hold all of the songs.", "", LICENCE),
    (1.5, "The village has singers for all of its songs.", "The village has sponsors for all of its songs.", "", {}),
]
"""Least differences, better and worse sentences, titles and other arguments."""


def test_sentences_are_ranked_by_what_they_say() -> None:
    for difference, better, worse, title, others in ORDERED:
        arguments: dict[str, Any] = {"language": "en", **others}
        high, low = (rank(candidates(*TEXTS, text), title, **arguments)[-1] for text in (better, worse))
        assert high > low + difference, better


def test_agreement_with_samples_counts() -> None:
    without, agreement = rank(candidates(*TEXTS), "", "en"), np.array([0.0, 0.0, 0.0, 1.0])
    change = rank(candidates(*TEXTS), "", "en", agreement=agreement) - without
    assert change[3] > 0 > change[0]


def test_options_and_questions_of_detail_are_ranked_lower() -> None:
    plain = candidates(*TEXTS)
    options = [CandidateSentence(item.text, item.index, item.place, section="Options") for item in plain]
    assert (rank(options, "", "en") < rank(plain, "", "en")).all()


def test_a_selection_fills_the_words_in_document_order() -> None:
    scores = np.array([1.0, 4.0, 2.0, 3.0])
    assert select(candidates(*TEXTS), scores, "en", 20) == [1, 3]
    assert select(candidates(*TEXTS), scores, "en", 17) == [1, 3]  # 20 words
    assert select(candidates(*TEXTS), scores, "en", 16) == [1]
    assert select(candidates(*TEXTS), scores, "en", 1) == [1]
    assert select(candidates(*TEXTS), scores, "en", 100) == [0, 1, 2, 3]
    assert select([], np.zeros(0), "en", 100) == []


def test_a_selection_ends_before_sentences_that_are_not_worth_it() -> None:
    scores = np.array([1.0, 4.0, 2.0, 3.0])
    assert select(candidates(*TEXTS), scores, "en", 30, 3.5) == [1, 3]
    assert select(candidates(*TEXTS), scores, "en", 16, 3.5) == [1]


def test_grants_of_a_licence_are_ranked_higher() -> None:
    grant = "Permission is granted to copy all of the songs."
    licence, text = (rank(candidates(*TEXTS, grant), "", "en", genre=genre)[-1] for genre in ("licence", ""))
    assert licence > text + 0.5


def test_a_selection_avoids_repetition() -> None:
    repeated = candidates(TEXTS[0], TEXTS[0].replace("The", "A"), TEXTS[1])
    assert select(repeated, np.array([3.0, 2.9, 1.0]), "en", 20) == [0, 2]


def test_a_repeated_sentence_is_selected_once() -> None:
    assert select(candidates(TEXTS[0], TEXTS[1], TEXTS[0]), np.array([2.0, 1.0, 2.0]), "en", 60) == [0, 1]


def test_a_sentence_is_selected_with_its_predecessor() -> None:
    linked = candidates(*TEXTS, predecessors={2: 1, 1: 0})
    assert select(linked, np.array([0.0, 0.0, 9.0, 1.0]), "en", 33) == [0, 1, 2]
    assert select(linked, np.array([0.0, 0.0, 9.0, 1.0]), "en", 11) == [0, 1, 2]


def test_name_lines_and_answers_that_define_the_subject_come_first() -> None:
    text = "The host sends a packet to the other one."
    plain, answer, other = (
        CandidateSentence(text, 9, 9, section, 1, is_first=True)
        for section in ("Routes", "What is CVS for?", "What is a branch?")
    )
    line = CandidateSentence(text, 9, 9, "Routes", 1, is_first=True, is_name_line=True)
    scores = [float(rank([item], "cvs FAQ", "en")[0]) for item in (plain, other, answer, line)]
    assert scores[0] < scores[1] < min(scores[2:])


def test_scores_of_a_ranker_count() -> None:
    without, learnt = rank(candidates(*TEXTS), "", "en"), np.array([0.0, 0.0, 0.0, 1.0])
    change = rank(candidates(*TEXTS), "", "en", learnt=learnt) - without
    assert change[3] > 1 > 0 > change[0]


def test_a_name_of_one_letter_in_the_title_is_defined() -> None:
    text = "R is a language for all of the songs."
    named, other = (rank(candidates(*TEXTS, text), title, "en")[-1] for title in ("A Guide to R", "A Guide to S"))
    assert named > other + 1


def test_descriptions_of_terms_are_ranked_lower() -> None:
    plain, described = (
        rank([CandidateSentence(TEXTS[0], 5, 5, is_description=is_description)], "", "en")[0]
        for is_description in (False, True)
    )
    assert described < plain - 2


def test_the_section_named_after_the_document_is_ranked_higher() -> None:
    named, other = (
        rank([CandidateSentence(TEXTS[0], 5, 5, section, 1)], "The birder README", "en")[0]
        for section in ("birder", "install")
    )
    assert named > other + 2


def test_a_name_line_is_enough_beside_descriptions() -> None:
    line = CandidateSentence(TEXTS[0], 0, 1, is_name_line=True)
    scores = np.array([4.0, 1.5])
    assert select([line, CandidateSentence(TEXTS[1], 1, 2)], scores, "en", 100) == [0]


def test_details_are_left_out_beside_a_principal_sentence() -> None:
    scores = np.array([1.0, 8.0, 2.0, 4.5])
    assert select(candidates(*TEXTS), scores, "en", 100) == [1, 3]
    assert select(candidates(*TEXTS), scores, "en", 100, is_list=True) == [0, 1, 2, 3]


def test_sentences_between_beginning_and_end_have_no_centrality_there() -> None:
    texts = [f"{name} packets reach {name} gateways over route {name}" for name in "abcdefghij"]
    values = _frame_centrality(candidates(*texts), SentenceWords(text.split() for text in texts))
    assert np.flatnonzero(values == -1).tolist() == [3, 4, 5, 6, 7, 8]
