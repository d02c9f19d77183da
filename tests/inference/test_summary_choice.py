from collections.abc import Sequence

import numpy as np
import pytest

from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.ranking import LengthTarget
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import source_sentences
from sumpool.evaluation.rouge import Agreement, RougeTokenizer
from sumpool.inference.generation import Generated
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


def choose(text: str, samples: Sequence[str] = (), target: LengthTarget | None = None, **settings: object) -> Generated:
    config = DecodingConfig.model_validate({"mbr": True, **settings})
    splitter = SentenceSplitter()
    generated = Generated(text, -1.0, tuple(samples))
    return SummaryChooser(config, splitter).choose(
        generated, source_sentences(Document("text", TEXT), splitter), target
    )


def test_the_text_that_agrees_most_with_the_others_is_chosen() -> None:
    samples = ["Plums fall in autumn.", "Hosts send packets to gateways.", "Hosts send long packets to gateways."]
    assert choose("Plums are red.", samples).text in samples[1:]
    assert choose("Hosts send packets to gateways.", [samples[0], samples[2]]).text == samples[1]
    assert choose("Plums are red.", samples, mbr=False).text == "Plums are red."


def test_a_sample_does_not_agree_with_itself() -> None:
    samples = ["Hosts send packets.", "Plums fall from trees.", "Plums fall from hosts."]
    chosen = choose("Apples rot.", samples)
    others = [sample for sample in samples if sample != chosen.text]
    assert chosen.text == samples[2]
    tokenize = RougeTokenizer(stemmer=True).tokenize
    agreements = [Agreement(other, tokenize).scores([chosen.text])[0] for other in others]
    assert chosen.agreement == pytest.approx(np.mean(agreements))
    assert choose("Apples rot.", ["Apples fall."]).agreement == pytest.approx(0.5)


def test_sentences_that_are_not_allowed_are_replaced_or_dropped() -> None:
    for text, factuality, shown in (
        (WRONG, "any", WRONG),
        (WRONG, "facts", SOURCE),
        (f"{FOUNDED} {WRONG}", "facts", f"{FOUNDED} {SOURCE}"),
        (f"{SOURCE} {WRONG}", "facts", SOURCE),
        (f"{FOUNDED} Peaches rot in Rome.", "facts", FOUNDED),
        (f"{FOUNDED} Plums fall.", "facts", FOUNDED),
        (SPLICED, "facts", SPLICED),
        (SPLICED, "spans", "This memo defines a protocol for hosts and gateways of a network."),
        (FOUNDED, "spans", FOUNDED),
        ("Notes on the use of short packets.", "spans", ""),
        ("Peaches rot in Rome.", "facts", ""),
        ("", "facts", ""),
    ):
        assert choose(text, mbr=False, factuality=factuality).text == shown


def test_a_text_without_allowed_sentences_is_not_chosen() -> None:
    assert choose("Peaches rot in Rome.", ["Peaches rot in Rome.", FOUNDED], factuality="facts").text == FOUNDED
    chosen = choose("Peaches rot.", ["Peaches rot."], factuality="facts")
    assert (chosen.text, chosen.samples, chosen.agreement) == ("", ("Peaches rot.",), 0.0)
    assert choose("Peaches rot.", mbr=False, factuality="facts") == chosen
    assert choose("", [FOUNDED]).agreement is None


def test_texts_of_the_target_length_are_preferred() -> None:
    samples = [
        "Hosts send packets to all other gateways.",
        "Hosts send packets to us.",
        "Hosts send packets to gateways.",
    ]
    assert choose("Plums are red.", samples, LengthTarget(5, False, 6)).text != samples[0]
    assert choose("Plums are red.", samples, LengthTarget(7, False, 9)).text == samples[0]
    two = f"{samples[1]} {samples[2]}"
    assert choose("Plums are red.", [two, *samples], LengthTarget(2, True, 9)).text == two
    assert choose("Plums are red.", samples, LengthTarget(30, False, 40)) == choose("Plums are red.", samples)


def test_the_form_of_candidates_is_repaired() -> None:
    for text, shown in (
        (f"{FOUNDED} and CMU-108.", FOUNDED),
        ("this memo defines a protocol for hosts", "This memo defines a protocol for hosts."),
        (f"It is red. {FOUNDED}", FOUNDED),
    ):
        assert choose(text, mbr=False).text == shown
        assert choose(text, mbr=False, factuality="facts").text == shown


def test_texts_that_are_not_well_formed_are_no_candidates_where_facts_are_checked() -> None:
    alone = "It also defines messages for gateways."
    assert choose(alone, mbr=False).text == alone
    assert choose(alone, mbr=False, factuality="facts").text == ""
    assert choose(f"{FOUNDED} {alone}", mbr=False, factuality="facts").text == f"{FOUNDED} {alone}"
