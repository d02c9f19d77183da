# ruff: noqa: RUF001  (letters of other scripts)

from sumpool.text.prose import depends_on_predecessor, is_balanced, tidy_sentence, without_connective


def test_marks_and_markup_are_removed() -> None:
    for sentence, tidy in [
        ("* Hosts  send\npackets.", "Hosts send packets."),
        ("2. 4. Hosts send packets.", "Hosts send packets."),
        ("(a) Hosts send packets.", "Hosts send packets."),
        ("A: Hosts send packets.", "Hosts send packets."),
        ("• **Hosts** send `packets`.", "Hosts send packets."),
        ("（一）主机发送数据包。", "主机发送数据包。"),
        ("2.5 hosts send packets.", "hosts send packets."),
        ("2024 was a year.", "2024 was a year."),
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


def test_labels_are_no_part_of_a_sentence() -> None:
    for sentence, text in [
        ("NOTE: The host waits.", "The host waits."),
        ("INCOMPATIBILITY Dropped support for Python.", "Dropped support for Python."),
        ("Abstract. The paper is about rain.", "The paper is about rain."),
        ("Abstract syntax is a notation.", "Abstract syntax is a notation."),
        ("Note that the host waits.", "Note that the host waits."),
        ("Security Considerations follow.", "Security Considerations follow."),
        ("Tip: Wait for the host.", "Wait for the host."),
    ]:
        assert tidy_sentence(sentence) == text


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
