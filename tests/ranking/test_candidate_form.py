from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.documents.source_sentences import SourceSentence
from sumpool.ranking.candidate_form import (
    MIN_WORDS,
    is_part,
    licence_term,
    resolve,
    whole_sentences,
    with_subject,
    without_label,
)

WHOLE = [(number, f"Tower number {number} tells all of its birds to wait for the bell.") for number in range(1, 14)]


def test_fragments_are_no_candidates() -> None:
    fragments = [(20, "3.2. Birds"), (21, "of the tower."), (22, "The birds are:"), (23, "The birds (all wait.")]
    assert whole_sentences([*WHOLE, *fragments]) == WHOLE
    assert whole_sentences([*WHOLE, (20, "o  The birds of the tower wait.")])[-1] == (
        20,
        "The birds of the tower wait.",
    )


def test_texts_with_few_whole_sentences_keep_all() -> None:
    few = [*WHOLE[: MIN_WORDS // 13], (20, "of the tower.")]
    assert whole_sentences(few) == few


def test_candidates_for_a_length_stand_alone() -> None:
    for words, is_dropped in [(40, True), (60, False)]:
        it = (14, "It rings the bell when all of the birds have come.")
        assert (it not in whole_sentences([*WHOLE, it], LengthTarget(words, False, 0))) == is_dropped
        assert it in whole_sentences([*WHOLE, it])


CANDIDATES = [
    (0, "This is how towers tell their birds to wait."),
    (1, "They do so by a bell."),
    (2, "A bell is loud, and every bird of the town hears it within a minute or two."),
    (5, "It is made of the best bronze."),
    (6, "The bronze comes from the mines of the king."),
    (7, "However, the king has sold them."),
    (8, "It was a bad day."),
]


def test_references_are_resolved() -> None:
    for selected, resolved in [
        ([2, 4], [2, 4]),
        ([4, 2, 1], [2, 4]),
        ([1, 0, 2], [0, 1, 2]),
        ([2, 3], [2]),
        ([5, 2], [2]),
        ([5], [4, 5]),
        ([6], [4, 5, 6]),
        ([3], [3]),
        ([0], [0]),
        ([], []),
    ]:
        assert resolve(selected, CANDIDATES) == resolved


def test_labels_and_references_in_brackets_are_removed() -> None:
    for text, expected in [
        ("The gateway (see Hosts) waits.", "The gateway waits."),
        ("The gateway waits: see its help page for details.", "The gateway waits."),
        (
            "This is Birder, a tool for birds distributed under the terms of the GPL.",
            "This is Birder, a tool for birds.",
        ),
        (
            "The gateway sends packets to all of its hosts, and is freely available from its site.",
            "The gateway sends packets to all of its hosts.",
        ),
        ("The gateway waits and is available.", "The gateway waits and is available."),
        ("[!TIP] Birder is a tool for birds.", "Birder is a tool for birds."),
        ("Das Gateway (vgl. Kapitel 3) wartet.", "Das Gateway wartet."),
        ("Das Gateway (laut Kapitel 3) wartet.", "Das Gateway wartet."),
        ("The gateway (http://a.b/c) waits.", "The gateway waits."),
        ("The host, at http://a.b/c.html, waits.", "The host waits."),
        ("Data are public at http://a.b/c.html. ", "Data are public. "),
        ("The gateway (an old one) waits.", "The gateway (an old one) waits."),
        ("Abstract Comparing hosts is hard.", "Comparing hosts is hard."),
        ("Abstract Syntax Notation is a language.", "Abstract Syntax Notation is a language."),
        ("Attribution Attribution is required.", "Attribution is required."),
    ]:
        assert without_label(text, 1) == expected


def test_labels_stand_at_the_beginning_of_a_document() -> None:
    assert without_label("Summary Comparing hosts is hard.", 9) == "Summary Comparing hosts is hard."


def test_terms_of_a_licence_stand_alone() -> None:
    for text, expected in [
        ("By contrast, the licence is free.", "The licence is free."),
        ("You must give all recipients a copy; and", "You must give all recipients a copy."),
        (
            "Copies are permitted provided that the conditions are met:",
            "Copies are permitted provided that the conditions are met.",
        ),
    ]:
        assert licence_term(text) == expected


def test_a_sentence_that_goes_on_with_a_mark_is_a_part() -> None:
    first, mark, other, quote = (
        SourceSentence(text, 0, 0) for text in ("It calls system.", "*wmrc is.", "主机。", '"A" is.')
    )
    assert is_part(first, mark, is_first=False)
    assert not is_part(first, other, is_first=False)
    assert not is_part(first, quote, is_first=False)


def test_descriptions_without_a_subject_get_the_heading() -> None:
    for text, heading, place, expected in [
        ("Simple library for birds.", "Birder", 1, "Birder: Simple library for birds."),
        ("A tool and lib that finds birds.", "Birder", 1, "Birder: A tool and lib that finds birds."),
        ("Simple library for birds.", "Usage", 9, "Simple library for birds."),
        ("Extract all of the birds.", "birder", 9, "birder: Extract all of the birds."),
        ("Birder extracts all of the birds.", "birder", 9, "Birder extracts all of the birds."),
        ("Birds are a kind of tool for towers.", "Towers and hosts", 1, "Birds are a kind of tool for towers."),
    ]:
        assert with_subject(text, heading, {"birder"}, place) == expected


def test_a_clause_that_only_leads_to_an_address_goes_with_it() -> None:
    text = "Gates is the child of Doors, a program of its own, which can be found at http://doors.example.org."
    assert without_label(text, 9) == "Gates is the child of Doors, a program of its own."
    assert without_label("The log that is available from https://a.org is long.", 9) == "The log is long."
    assert without_label("Doors opens logs <http://a.org/log> of gates.", 9) == "Doors opens logs of gates."
