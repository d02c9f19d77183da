import pytest

from sumpool.inference.factuality import FactCheck, FactChecker

SENTENCES = (
    "Alice of the Routing Group sends 3 packets to Bob every 20 seconds.",
    "Carol of the Security Group sends 7 messages to Dave every hour.",
    "A gateway does not forward packets that are longer than 576 octets.",
    "Hosts cannot use the option without a licence.",
    "However, the Telnet protocol is defined in RFC 854.",
    "Two LSPs carry the label of version 1.2 of the protocol.",
)


def check(sentence: str) -> FactCheck:
    return FactChecker(SENTENCES).check(sentence)


def test_source_sentences_are_founded_in_themselves() -> None:
    for sentence in SENTENCES:
        checked = check(sentence)
        assert checked == FactCheck((), (SENTENCES.index(sentence),), 1.0, 0)


def test_changed_facts_are_unfounded() -> None:
    for sentence, unfounded in (
        ("Alice of the Routing Group sends 4 packets to Bob.", ["4"]),
        ("Alice of the Routing Group sends 7 packets to Bob.", ["7"]),
        ("Alice of the Routing Group sends seven packets to Bob.", ["seven"]),
        ("Alice of the Routing Group sends packets to Dave every 20 seconds.", ["Dave"]),
        ("Dave of the Routing Group sends 3 packets to Bob.", ["Dave"]),
        ("Alice of the IETF sends 3 packets to Bob.", ["IETF"]),
        ("A gateway does forward packets that are longer than 576 octets.", ["not forward"]),
        ("Alice of the Routing Group never sends 3 packets to Bob.", ["not sends"]),
        ("Hosts can use the option without a licence.", ["not use"]),
        ("Two LSPs carry the label of version 1.3 of the protocol.", ["1.3"]),
        ("Not packets fall.", ["not packets"]),
        ("n't packets fall.", ["not packets"]),
    ):
        assert list(check(sentence).unfounded) == unfounded


def test_facts_of_the_sources_are_founded() -> None:
    for sentence in (
        "Alice of the Routing Group sends three packets to Bob every twenty seconds.",
        "alice of the routing group sends 3 packets.",
        "Gateways exist and a gateway doesn't forward packets that are longer than 576 octets.",
        "Hosts can't use the option without a licence.",
        "The Telnet protocol is defined in RFC 854.",
        "2 LSP carry the label of version 1.2.",
        "Bob's gateway: Alice of the Routing Group sends 3 packets to Bob.",
    ):
        assert check(sentence).unfounded == ()


def test_a_sentence_of_two_spans_has_two_sources_and_a_splice() -> None:
    checked = check("Alice of the Routing Group sends 7 messages to Dave every hour.")
    assert checked.sources == (1, 0)
    assert checked.unfounded == ()
    assert checked.copied == pytest.approx(2 / 3)
    assert checked.spliced == 0
    assert check("Alice of the Routing Group is defined in RFC 854.").spliced == 2
    assert check("Alice of the Routing Group sends 3 packets.").spliced == 0


def test_words_that_two_sentences_share_are_copied_from_the_one_that_adds_most() -> None:
    assert check("A message of the Security Group sends 7.").sources == (1,)


def test_first_words_are_names_only_if_the_document_never_writes_them_small() -> None:
    sentences = ("The box of Alice is red and large.", "The sky is blue and wide.", "Then blue boxes fall down again.")
    checker = FactChecker(sentences)
    assert checker.check("Alice is blue and wide.").unfounded == ("Alice",)
    assert checker.check("Blue is blue and wide.").unfounded == ()
    assert checker.check("Then the sky is blue and wide.").unfounded == ()


def test_nothing_copied_has_no_source() -> None:
    checked = check("Plums rot on wet ground in 1999.")
    assert checked == FactCheck(("1999",), (), 0.0, 5)
    assert FactChecker(()).check("Plums rot.") == FactCheck((), (), 0.0, 1)
    assert check("").sources == ()


def test_short_sentences_are_compared_as_a_whole() -> None:
    checker = FactChecker(("Plums rot.", "It rains."))
    assert checker.check("It rains.").sources == (1,)
    assert checker.check("It snows.").sources == ()
