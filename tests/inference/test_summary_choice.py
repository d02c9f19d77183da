from collections.abc import Sequence
from unittest.mock import Mock

import pytest

from sumpool.core.decoding.config import DecodingConfig, LengthTarget
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import source_sentences
from sumpool.inference.extraction import Reading
from sumpool.inference.fact_check import FactCheck, FactChecker
from sumpool.inference.summary_choice import SummaryChooser
from sumpool.text.sentences import SentenceSplitter

TEXT = (
    "This memo defines a protocol for hosts and gateways of a network.\n\n"
    "A gateway does not forward packets that are longer than 576 octets. Plums fall from old trees in Berlin.\n\n"
    "Hosts wait. It also defines messages for gateways of the Internet.\n\n"
    "NOTES ON THE USE OF LONG PACKETS"
)
FOUNDED = "This memo defines a protocol for hosts and gateways."
SPLICED = "This memo defines a protocol for hosts that are longer than 576 octets."
WRONG = "A gateway does not forward packets that are longer than 1500 octets."
SOURCE = "A gateway does not forward packets that are longer than 576 octets."


def choose(text: str, samples: Sequence[str] = (), target: LengthTarget | None = None, **settings: object) -> str:
    config = DecodingConfig.model_validate({"mbr": True, **settings})
    document, splitter = Document("text", TEXT), SentenceSplitter()
    sentences = source_sentences(document, splitter)
    reading = Reading(document, Mock(), language="en", sentences=sentences, target=target)
    return SummaryChooser(config, splitter, reading).choose_text([text, *samples])


def test_the_text_that_agrees_most_with_the_others_is_chosen() -> None:
    samples = ["Plums fall in autumn.", "Hosts send packets to gateways.", "Hosts send long packets to gateways."]
    assert choose("Plums are red.", samples) in samples[1:]
    assert choose("Hosts send packets to gateways.", [samples[0], samples[2]]) == samples[1]
    assert choose("Plums are red.", samples, mbr=False) == "Plums are red."
    assert choose("Мост открыли.", ["Река течет.", "Река течет быстро."]) == "Река течет."


def test_a_sample_does_not_agree_with_itself() -> None:
    samples = ["Hosts send packets.", "Plums fall from trees.", "Plums fall from hosts."]
    chosen = choose("Apples rot.", samples)
    assert chosen == samples[2]


def test_sentences_that_are_not_allowed_are_replaced_or_dropped() -> None:
    for text, factuality, shown in (
        (WRONG, "any", WRONG),
        (WRONG, "facts", SOURCE),
        (f"{FOUNDED} {WRONG}", "facts", f"{FOUNDED} {SOURCE}"),
        (f"{SOURCE} {WRONG}", "facts", SOURCE),
        (f"{FOUNDED} Peaches rot in Rome.", "facts", FOUNDED),
        (f"{FOUNDED} Plums fall.", "facts", FOUNDED),
        (f"{FOUNDED} In 1999 the red peaches and pears fall from old trees and into the rain.", "facts", FOUNDED),
        (SPLICED, "facts", SPLICED),
        (SPLICED, "spans", "This memo defines a protocol for hosts and gateways of a network."),
        (FOUNDED, "spans", FOUNDED),
        ("Notes on the use of short packets.", "spans", ""),
        ("Peaches rot in Rome.", "facts", ""),
    ):
        assert choose(text, mbr=False, factuality=factuality) == shown


def test_a_text_without_allowed_sentences_is_not_chosen() -> None:
    assert choose("Peaches rot in Rome.", ["Peaches rot in Rome.", FOUNDED], factuality="facts") == FOUNDED
    assert choose("Peaches rot.", ["Peaches rot."], factuality="facts") == ""
    assert choose("Peaches rot.", mbr=False, factuality="facts") == ""


def test_texts_of_the_target_length_are_preferred() -> None:
    samples = [
        "Hosts send packets to all other gateways.",
        "Hosts send packets to us.",
        "Hosts send packets to gateways.",
    ]
    assert choose("Plums are red.", samples, LengthTarget(5, False, 6)) != samples[0]
    assert choose("Plums are red.", samples, LengthTarget(7, False, 9)) == samples[0]
    two = f"{samples[1]} {samples[2]}"
    assert choose("Plums are red.", [two, *samples], LengthTarget(2, True, 9)) == two
    assert choose("Plums are red.", samples, LengthTarget(30, False, 40)) == choose("Plums are red.", samples)


def test_the_form_of_candidates_is_repaired() -> None:
    for text, shown in (
        (f"{FOUNDED} and CMU-108.", FOUNDED),
        ("this memo defines a protocol for hosts", "This memo defines a protocol for hosts."),
        (f"It is red. {FOUNDED}", FOUNDED),
    ):
        assert choose(text, mbr=False) == shown
        assert choose(text, mbr=False, factuality="facts") == shown


def test_texts_that_are_not_well_formed_are_no_candidates_where_facts_are_checked() -> None:
    alone = "It also defines messages for gateways."
    assert choose(alone, mbr=False) == alone
    assert choose(alone, mbr=False, factuality="facts") == ""
    assert choose(f"{FOUNDED} {alone}", mbr=False, factuality="facts") == f"{FOUNDED} {alone}"


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


def test_changed_facts_are_unfounded_and_those_of_the_sources_are_not() -> None:
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
        ("Alice of the Routing Group sends three packets to Bob every twenty seconds.", []),
        ("alice of the routing group sends 3 packets.", []),
        ("Gateways exist and a gateway doesn't forward packets that are longer than 576 octets.", []),
        ("Hosts can't use the option without a licence.", []),
        ("The Telnet protocol is defined in RFC 854.", []),
        ("2 LSP carry the label of version 1.2.", []),
        ("Bob's gateway: Alice of the Routing Group sends 3 packets to Bob.", []),
    ):
        assert list(check(sentence).unfounded) == unfounded


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
    # of two that add as much, from the one that has more of the sentence
    assert FactChecker(("a b c d e", "f g h", "d e f g h")).check("a b c d e f g h").sources == (0, 2)


def test_first_words_are_names_only_if_the_document_never_writes_them_small() -> None:
    sentences = ("The box of Alice is red and large.", "The sky is blue and wide.", "Then blue boxes fall down on Red.")
    checker = FactChecker(sentences)
    assert checker.check("Alice is blue and wide.").unfounded == ("Alice",)
    assert checker.check("Blue is blue and wide.").unfounded == checker.check("Red is blue and wide.").unfounded == ()
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
