from sumpool.text.form import FAULTS, repair_sentence, repair_text, sentence_faults, text_faults

WHOLE = "The tower (of London) tells the birds to wait."


def test_faults_of_a_sentence() -> None:
    for sentence, faults in [
        (WHOLE, ()),
        ("iSCSI carries the commands of a disk over a network.", ()),
        ("What does the tower say to the birds?", ()),
        ('He said "wait for the tower."', ()),
        ("tower operators have to wait for the birds.", ("no capital",)),
        ("The tower tells the birds", ("no end",)),
        ("The birds are a part of the.", ("no end",)),
        ("The tower (of London tells the birds to wait.", ("unbalanced",)),
        ('The tower tells the birds to "wait.', ("unbalanced",)),
        ("Remote procedure protocol specification.", ("heading",)),
        ("3.", ("heading",)),
        ("3.2. Birds and Other Animals.", ("heading", "list mark")),
        ("o The tower tells the birds to wait.", ("no capital", "list mark")),
        ("1. The tower tells the birds to wait.", ("list mark",)),
        ("The type is given for all the birds (such as audio/*).", ()),
    ]:
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


def test_repaired_sentence() -> None:
    for sentence, repaired in [
        (WHOLE, WHOLE),
        ("the tower tells the birds to wait.", "The tower tells the birds to wait."),
        ("1. The tower tells the birds to wait.", "The tower tells the birds to wait."),
        ("and CMU-108.", ""),
        ("The tower tells the birds to wait (see Section 3.", "The tower tells the birds to wait see Section 3."),
        ('The tower tells the "birds to wait.', "The tower tells the birds to wait."),
        ("The tower) tells the birds to wait.", "The tower tells the birds to wait."),
        ("The tower tells the [birds] to wait).", "The tower tells the birds to wait."),
        ('The "tower" tells the "birds to (wait.', "The tower tells the birds to wait."),
        ("The tower tells the birds", ""),
        ("Security Considerations.", ""),
        (" ", ""),
    ]:
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


def test_text_with_a_word_is_never_empty() -> None:
    for fragments, text in [
        (["the birds of the tower, and the"], ["The birds of the tower."]),
        (['and (the "tower', "2."], ["And the tower."]),
        (["it is so."], ["It is so."]),
        (["of"], ["Of"]),
        (["1.", "-"], []),
        ([], []),
    ]:
        assert repair_text(fragments) == text


def test_connective_without_predecessor_is_removed() -> None:
    assert repair_text(["However, the tower is loud.", "Moreover, the birds are."]) == [
        "The tower is loud.",
        "Moreover, the birds are.",
    ]
    assert repair_text([WHOLE.replace("The", "However, this", 1), WHOLE]) == [WHOLE]


def test_scripts_without_spaces_are_left_alone() -> None:
    assert repair_text(["\u9e1f\u5728\u5531"], "zh") == ["\u9e1f\u5728\u5531"]


def test_hostile_sentences_are_repaired() -> None:
    """Patterns that go back and forth would take minutes for them."""
    for part in ("(", '"', "a ", ", ", "and ", "1. ", "()", "**a** ", "[("):
        sentence = part * (10_000 // len(part))
        assert len(text_faults(repair_text([sentence, f"{sentence}b"]), sentence)) <= 2, part
