from sumpool.text.prose import (
    depends_on_predecessor,
    is_balanced,
    is_whole,
    is_whole_text,
    repair_sentence,
    repair_text,
    tidy_sentence,
    without_citations,
    without_connective,
)


def test_list_marks_are_removed() -> None:
    for sentence, tidy in [
        ("* Hosts  send\npackets.", "Hosts send packets."),
        ("2. 4. Hosts send packets.", "Hosts send packets."),
        ("(a) Hosts send packets.", "Hosts send packets."),
        ("• iv) Hosts send packets.", "Hosts send packets."),
        ("2024 was a year.", "2024 was a year."),
        ("2.4 billion people have hosts.", "2.4 billion people have hosts."),
        ("A. Smith sends packets.", "A. Smith sends packets."),
        ("§10 applies.", "§10 applies."),
        ("__next__ sends packets.", "__next__ sends packets."),
        ("x-ray beams.", "x-ray beams."),
    ]:
        assert tidy_sentence(sentence) == tidy


def test_a_sentence_that_refers_to_another_depends_on_it() -> None:
    for sentence, language, depends in [
        ("It sends packets.", "en", True),
        ("However, hosts send packets.", "en", True),
        ("“They” send packets.", "en", True),
        ("This manual describes hosts.", "en", False),
        ("Hosts send it.", "en", False),
        ("Dies ist ein Rechner.", "de", True),
        ("Dieses Handbuch beschreibt Rechner.", "de", False),
        ("Однако это так.", "ru", True),
        ("因此主机发送数据包。", "zh", True),
        ("しかしホストは送ります。", "ja", True),
        ("It sends packets.", "xx", False),
    ]:
        assert depends_on_predecessor(sentence, language) == depends


def test_guillemets_point_inwards_or_outwards() -> None:
    for text, is_closed in [
        ("Das »Paket« und »Gateway« warten.", True),
        ("Le « paquet » attend.", True),
        ("Das »Paket wartet.", False),
        ("Le « paquet » et « gateway attendent.", False),
    ]:
        assert is_balanced(text) is is_closed


def test_connectives_before_a_comma_are_removed() -> None:
    assert without_connective("However, the tower is old.") == "The tower is old."
    assert without_connective("Deshalb, so heißt es, ist er alt.", "de") == "So heißt es, ist er alt."
    for sentence in ("However old the tower is, it stands.", "Birds, however, sing.", "However,", "Deshalb, ja."):
        assert without_connective(sentence) == sentence
    assert without_connective("However, it is.", "xx") == "However, it is."


def test_numbers_of_a_bibliography_are_left_out() -> None:
    for sentence, expected in [
        ("Hosts [1] send packets [2,3] to gateways [4-6].", "Hosts send packets to gateways."),
        ('It is a "token" [3] or a name (a word) [4].', 'It is a "token" or a name (a word).'),
        ("The format of [3] is defined in [4].", None),
        ("Values in the interval [1, 5] are integers.", None),
        ("Of a[1] the mean [sic] is taken, and [the] rest [0.5,2.5].", None),
        ("This document updates [RFC4233].", None),
    ]:
        assert without_citations(sentence) == (expected or sentence)


WHOLE = "The tower (of London) tells the birds to wait."


def test_whole_sentences() -> None:
    for sentence, language, whole in [
        (WHOLE, "en", True),
        ("iSCSI carries the commands of a disk over a network.", "en", True),
        ("What does the tower say to the birds?", "en", True),
        ('He said "wait for the tower."', "en", True),
        ("The type is given for all the birds (such as audio/*).", "en", True),
        ("Ptaki lataj\u0105 nad miastem.", "xx", True),
        ("V\u00f6gel fliegen \u00fcber der Stadt.", "de", True),
        ("बैठक में परिषद ने नया पुस्तकालय बनाने का निर्णय लिया।", "hi", True),
        ("tower operators have to wait for the birds.", "en", False),
        ("The tower tells the birds", "en", False),
        ("The birds are a part of the.", "en", False),
        ("The tower (of London tells the birds to wait.", "en", False),
        ('The tower tells the birds to "wait.', "en", False),
        ("Remote procedure protocol specification.", "en", False),
        ("Tips That Help the Bird Find Food.", "en", False),
        ("3.", "en", False),
        ("3.2. Birds and Other Animals.", "en", False),
        ("1. The tower tells the birds to wait.", "en", False),
    ]:
        assert is_whole(sentence, language) is whole, sentence


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
        assert not repaired or is_whole(repaired)


def test_repaired_text_is_whole() -> None:
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
    assert is_whole_text(repair_text(text))
    assert not is_whole_text(["They fly over the town."])
    assert not is_whole_text([WHOLE, "The tower tells the birds"])


def test_repaired_text_keeps_pronouns_behind_their_predecessor_of_the_document() -> None:
    document = f"{WHOLE} It is not loud. The tower has a bell. It is very loud."
    assert repair_text([WHOLE, "It is very loud."], document=document) == [WHOLE]
    assert repair_text([WHOLE, "It is not loud."], document=document) == [WHOLE, "It is not loud."]
    first = "It is a tower of birds."
    assert repair_text([first], document=f"{first} They sing.") == [first]
    assert repair_text([WHOLE, "They do it again."], document=document) == [WHOLE, "They do it again."]


def test_repaired_fragments() -> None:
    for fragments, text in [  # a text with a word is never empty
        (["the birds of the tower, and the"], ["The birds of the tower."]),
        (['and (the "tower', "2."], ["And the tower."]),
        (["it is so."], ["It is so."]),
        (["of"], ["Of"]),
        (["1.", "-"], []),
        ([], []),
        (["However, birds are loud.", "Moreover, they sing."], ["Birds are loud.", "Moreover, they sing."]),
        ([WHOLE.replace("The", "However, this", 1), WHOLE], [WHOLE]),
    ]:
        assert repair_text(fragments) == text
    assert repair_text(["\u9e1f\u5728\u5531"], "zh") == ["\u9e1f\u5728\u5531"]  # a script without spaces


def test_hostile_sentences_are_repaired() -> None:
    """Patterns that go back and forth would take minutes for them."""
    for part in ("(", '"', "a ", ", ", "and ", "1. ", "()", "**a** ", "[("):
        sentence = part * (10_000 // len(part))
        repaired = repair_text([sentence, f"{sentence}b"])
        assert len(repaired) <= 2, part
        is_whole_text(repaired)
