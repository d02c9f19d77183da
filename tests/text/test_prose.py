# ruff: noqa: RUF001  (letters of other scripts)

from sumpool.text.prose import depends_on_predecessor, is_balanced, is_prose_sentence, tidy_sentence


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


def test_statements_are_prose() -> None:
    for sentence, language in [
        ("Debian is a free operating system for computers.", "en"),
        ("The (very) small host sends the packet.", "en"),
        ('She said that "the host sends the packet."', "en"),
        ("Der Paketmanager „apt“ ist ein Werkzeug für die Verwaltung von Paketen.", "de"),
        ("这个程序显示目录中的文件。", "zh"),
        (r"The package sets \count1 to the number of the page.", "en"),
        ("Shows the list of the files in a folder.", "xx"),
    ]:
        assert is_prose_sentence(sentence, language)


def test_what_says_nothing_alone_is_no_prose() -> None:
    for sentence in [
        "A.",
        "The Project Leader may: 1.",
        "The Project Leader may do the following:",
        "How do I install the system on a host?",
        "Status: the host is up and it works.",
        "and then the host sends the packet to it.",
        "The host (which is small sends the packet.",
        'The host "which is small sends the packet.',
        "See the manual of the host for the packet.",
        "The home page of it is at https://example.org/.",
        "The host takes [options] of the gateway [packet]...",
        "Set the variable of the host to PATH=/usr/bin.",
        "Copyright 2004 by the authors of the manual.",
        "Version 1.2 was made by the authors of it.",
        "THE HOST SENDS THE PACKET TO THE GATEWAY.",
        "The 12 34 56 78 90 12 34 56 78 90 are.",
        "The host " + "and the gateway " * 20 + "send it.",
        "The alternative is the host of the gateway.",
        "Section 3 describes the host of the network.",
    ]:
        assert not is_prose_sentence(sentence)


def test_sentences_of_another_script_are_no_prose_of_a_language() -> None:
    assert not is_prose_sentence("The host sends the packet to the gateway.", "zh")


def test_a_name_may_begin_a_sentence_in_lower_case() -> None:
    sentence = "apt is the tool that installs packages."
    assert not is_prose_sentence(sentence)
    assert is_prose_sentence(sentence, names={"apt"})


def test_terms_are_the_content_of_a_licence() -> None:
    sentence = "Permission is granted to copy the work to all of you."
    assert not is_prose_sentence(sentence)
    assert is_prose_sentence(sentence, is_licence=True)


def test_a_sentence_that_refers_to_another_depends_on_it() -> None:
    for sentence, language, depends in [
        ("It sends packets.", "en", True),
        ("However, hosts send packets.", "en", True),
        ("“They” send packets.", "en", True),
        ("This manual describes hosts.", "en", False),
        ("Hosts send it.", "en", False),
        ("It is possible to send packets.", "en", False),
        ("Es gibt Rechner.", "de", False),
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
    ]:
        assert tidy_sentence(sentence) == text


def test_only_demonstratives_refer_to_the_document() -> None:
    assert not depends_on_predecessor("This package sends packets.")
    assert depends_on_predecessor("But the packages in unstable are not tested.")
    assert depends_on_predecessor("但这个程序不能运行。", "zh")


def test_chinese_pointers_are_no_prose() -> None:
    assert not is_prose_sentence("必选参数对长短选项同时适用。", "zh")
    assert not is_prose_sentence("关于启动安装程序的更多信息，请参阅第二节。", "zh")


def test_guillemets_point_inwards_or_outwards() -> None:
    for text, is_whole in [
        ("Das »Paket« und »Gateway« warten.", True),
        ("Le « paquet » attend.", True),
        ("Das »Paket wartet.", False),
        ("Le « paquet » et « gateway attendent.", False),
    ]:
        assert is_balanced(text) is is_whole


def test_steps_of_a_story_are_no_prose_alone() -> None:
    for start in [
        "Now, the host",
        "Suppose that the host",
        "Then the host",
    ]:
        assert not is_prose_sentence(f"{start} sends a packet to the gateway.")


def test_items_of_a_list_that_lacks_its_first_are_no_prose() -> None:
    assert not is_prose_sentence("The query systems of all hosts, (2) the information about them.")
    assert not is_prose_sentence("Clarinets of the host \u2022 and the gateway \u2022 wait.")
    assert is_prose_sentence("The host(8) program is a tool for the gateway.")
    assert is_prose_sentence("The host sends (1) the query and (2) the information about it.")


def test_names_of_tex_commands_are_no_code() -> None:
    assert is_prose_sentence("This package provides the hook \\EverySelectfont for the fonts.")
    assert not is_prose_sentence("The file of the host is at C:\\9 in the gateway.")
