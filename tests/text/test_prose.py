from sumpool.text.prose import (
    depends_on_predecessor,
    is_balanced,
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


def test_a_sentence_about_the_document_stands_alone() -> None:
    assert not depends_on_predecessor("This package sends packets.")
    assert not depends_on_predecessor("本文档因此描述主机。", "zh")
    assert depends_on_predecessor("因此主机发送数据包。", "zh")


def test_guillemets_point_inwards_or_outwards() -> None:
    for text, is_whole in [
        ("Das »Paket« und »Gateway« warten.", True),
        ("Le « paquet » attend.", True),
        ("Das »Paket wartet.", False),
        ("Le « paquet » et « gateway attendent.", False),
    ]:
        assert is_balanced(text) is is_whole


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
