import time

import pytest

from sumpool.text.form import FAULTS, repair_sentence, repair_text, sentence_faults, text_faults

WHOLE = "The tower (of London) tells the birds to wait."


@pytest.mark.parametrize(
    ("sentence", "faults"),
    [
        (WHOLE, ()),
        ("iSCSI carries the commands of a disk over a network.", ()),
        ("sha256 is a function that maps texts to numbers.", ()),
        ("What does the tower say to the birds?", ()),
        ('He said "wait for the tower."', ()),
        ("tower operators have to wait for the birds.", ("no capital",)),
        ("The tower tells the birds", ("no end",)),
        ("The tower tells the birds the following:", ("no end",)),
        ("The birds are a part of the.", ("no end",)),
        ("The tower (of London tells the birds to wait.", ("unbalanced",)),
        ("The tower of London) tells the birds to wait.", ("unbalanced",)),
        ('The tower tells the birds to "wait.', ("unbalanced",)),
        ("Security Considerations.", ("heading",)),
        ("Remote procedure protocol specification.", ("heading",)),
        ("Hosts send packets.", ()),
        ("3.", ("heading",)),
        ("3.2. Birds and Other Animals.", ("heading", "list mark")),
        ("CONSIDERATIONS OF THE TOWER.", ("heading",)),
        ("o The tower tells the birds to wait.", ("no capital", "list mark")),
        ("- The tower tells the birds to wait.", ("list mark",)),
        ("1. The tower tells the birds to wait.", ("list mark",)),
        ("// The tower tells the birds to wait.", ("comment",)),
        ("The tower ::= birds that have to wait.", ("comment",)),
        ("This module tells the birds -- that is, all of them -- to wait.", ("comment",)),
        ("The type is given for all the birds (such as audio/*).", ()),
    ],
)
def test_faults_of_a_sentence(sentence: str, faults: tuple[str, ...]) -> None:
    assert sentence_faults(sentence) == faults
    assert set(faults) <= set(FAULTS)


def test_other_languages_have_no_headings_by_function_words() -> None:
    assert sentence_faults("Ptaki lataj\u0105 nad miastem.", "xx") == ()
    assert sentence_faults("V\u00f6gel fliegen \u00fcber der Stadt.", "de") == ()


BIRDS = ["Birds sing.", "They fly over the town.", "However, they cannot swim."]


def test_pronoun_needs_the_sentence_before_it() -> None:
    document = " ".join(BIRDS)
    assert text_faults(BIRDS[:1], document) == [("heading",)]
    assert [faults[-1:] for faults in text_faults(BIRDS[1:2])] == [("no predecessor",)]
    assert (
        text_faults(["Birds sing in the town.", BIRDS[1]], "Birds sing in the town. They fly over the town.")[1] == ()
    )
    other = "Birds sing in the town. Fish are silent. They fly over the town."
    assert text_faults(["Birds sing in the town.", BIRDS[1]], other)[1] == ("no predecessor",)
    assert text_faults(["It is a tower of birds."], "It is a tower of birds. They sing.") == [()]
    assert text_faults(["Nobody knows why the birds sing.", "They do it again."], other)[1] == ()


@pytest.mark.parametrize(
    ("sentence", "repaired"),
    [
        (WHOLE, WHOLE),
        ("the tower tells the birds to wait.", "The tower tells the birds to wait."),
        ("1. The tower tells the birds to wait.", "The tower tells the birds to wait."),
        ("and CMU-108.", ""),
        ("bearing birds must leave the tower every day.", ""),
        ("The tower tells the birds to wait (see Section 3.", "The tower tells the birds to wait."),
        ("The tower tells the birds to wait in the (see Section 3.", "The tower tells the birds to wait."),
        ('The tower tells the "birds to wait.', "The tower tells the birds to wait."),
        ("o The tower tells the birds to wait.", WHOLE.replace("(of London) ", "")),
        ("The tower) tells the birds to wait.", ""),
        ("The tower tells the [birds] to wait).", "The tower tells the [birds] to wait."),
        ('The "tower" tells the "birds to (wait.', "The tower tells the birds."),
        ("The tower tells the birds", ""),
        ("Security Considerations.", ""),
        ("12.", ""),
        ("", ""),
        (" ", ""),
    ],
)
def test_repaired_sentence(sentence: str, repaired: str) -> None:
    assert repair_sentence(sentence) == repaired
    assert not repaired or sentence_faults(repaired) == ()


def test_repaired_text_has_no_faults() -> None:
    text = [
        "They fly over the town.",
        "It is so.",
        WHOLE,
        "They obey, as they always do.",
        "2.1. Birds.",
        "However, some of them do not.",
        WHOLE,
        "The others tell the tower to",
    ]
    assert repair_text(text) == [WHOLE, "They obey, as they always do.", "Some of them do not."]
    assert not any(text_faults(repair_text(text)))


def test_repaired_text_keeps_pronouns_behind_their_predecessor_of_the_document() -> None:
    document = f"{WHOLE} It is not loud. The tower has a bell. It is very loud."
    assert repair_text([WHOLE, "It is very loud."], document=document) == [WHOLE]
    assert repair_text([WHOLE, "It is not loud."], document=document) == [WHOLE, "It is not loud."]


@pytest.mark.parametrize(
    ("fragments", "text"),
    [
        (["the birds of the tower, and the"], ["The birds of the tower."]),
        (['and (the "tower', "2."], ["And the tower."]),
        (["it is so."], ["It is so."]),
        (["of"], ["Of"]),
        (["1.", "-"], []),
        ([], []),
    ],
)
def test_text_with_a_word_is_never_empty(fragments: list[str], text: list[str]) -> None:
    assert repair_text(fragments) == text


def test_connective_without_predecessor_is_removed() -> None:
    assert repair_text(["However, the tower is loud.", "Moreover, the birds are."]) == [
        "The tower is loud.",
        "Moreover, the birds are.",
    ]
    assert repair_text([WHOLE.replace("The", "However, this", 1), WHOLE]) == [WHOLE]


def test_scripts_without_spaces_are_left_alone() -> None:
    assert repair_text(["\u9e1f\u5728\u5531"], "zh") == ["\u9e1f\u5728\u5531"]


@pytest.mark.parametrize("part", ["(", '"', "a ", ", ", "and ", "1. ", "()", "**a** ", "[("])
def test_hostile_sentences_are_repaired_in_time(part: str) -> None:
    sentence = part * (10_000 // len(part))
    start = time.process_time()
    repair_text([sentence, f"{sentence}b"])
    text_faults([sentence], sentence)
    assert time.process_time() - start < 2
