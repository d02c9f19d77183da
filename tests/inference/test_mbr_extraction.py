from pathlib import Path

import pytest

from sumpool.core.decoding.config import DecodingConfig
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import source_sentences
from sumpool.inference.generation import Generated
from sumpool.inference.mbr_extraction import MbrExtractor
from sumpool.inference.summary import Extraction
from sumpool.text.sentences import SentenceSplitter
from sumpool.workflows.summarize import summarize
from tests.conftest import story

TEXT = "Hosts send packets to gateways.\nApples fall from trees. Gateways drop packets that are\ntoo long."
AGREED = "Gateways drop packets that are long. Hosts send packets to trees."
GENERATED = Generated(AGREED, -1.0, (AGREED,))


def extract(generated: list[Generated], text: str = TEXT, **settings: object) -> str:
    config = DecodingConfig.model_validate({"mode": "extractive", **settings})
    return " ".join(extract_by(MbrExtractor(config), Document("text", text), generated).sentences)


def extract_by(extractor: MbrExtractor, document: Document, generated: list[Generated]) -> Extraction:
    return extractor.extract(document, source_sentences(document, SentenceSplitter.default()), generated)


def extract_from(text: str, sample: str) -> str:
    return extract([Generated(sample, -1.0, (sample,))], text)


def test_sentences_that_agree_are_taken_in_their_order() -> None:
    assert extract([GENERATED]) == "Hosts send packets to gateways. Gateways drop packets that are too long."


def test_headings_are_no_sentences() -> None:
    text = "GATEWAYS DROP PACKETS\nGateways drop packets that are too long.\n\nHOSTS\nApples fall."
    assert extract_from(text, AGREED) == "Gateways drop packets that are too long."


def test_only_prose_is_taken_and_a_title() -> None:
    for sentence, taken in (
        ("gateways drop [packets]", False),
        ("gateways --drop packets that are long", False),
        ("gateways drop packets that are too long", True),
        ("Gateways drop.", True),
        ('He said: "gateways drop!")', True),
    ):
        assert (
            sentence in extract_from(f"Apples fall.\n\n{sentence}\n\nPlums rot.", "Gateways drop packets.")
        ) == taken
        assert extract_from(f"{sentence}\n\nApples fall. Plums rot.", "Gateways drop packets.") == sentence


def test_nothing_is_taken_where_nothing_agrees() -> None:
    assert extract([Generated("Cherries ripen.", -1.0, ("Cherries ripen.",))]) == ""
    assert extract([]) == ""


def test_abstractive_mode_extracts_nothing() -> None:
    assert extract([GENERATED], mode="abstractive") == ""


def test_sentences_agree_with_the_samples_and_not_with_the_generated_text() -> None:
    samples = ("Hosts send packets to gateways.",) * 4 + ("Apples fall from trees.",) * 2
    assert "Hosts send packets" in extract([Generated("Apples fall from trees.", -1.0, samples)])


def test_out_of_domain_the_lead_counts() -> None:
    text = ("Hosts wait for answers from afar " * 12) + ". Apples rot. Gateways drop packets."
    written = [Generated("Plums fall.", -1.0, ("Gateways drop packets.",))]

    def taken(mode: str, ood_threshold: float) -> str:
        return extract(written, text, mode=mode, ood_threshold=ood_threshold)

    assert taken("extractive", 0) == "Gateways drop packets."
    assert "Hosts wait" in taken("extractive", 0.35)
    assert "Hosts wait" in taken("auto", 0.35)


def test_sentences_have_their_indices_and_auto_says_why_they_are_taken() -> None:
    text = "Hosts wait.\n\nAPPLES\n\nApples rot. Gateways drop packets."
    generated = [Generated("Plums fall.", -1.0, ("Gateways drop packets.",))]

    def extraction(**settings: object) -> Extraction:
        extractor = MbrExtractor(DecodingConfig.model_validate(settings))
        return extract_by(extractor, document, generated)

    document = Document("text", text)
    assert source_sentences(document, SentenceSplitter.default())[3].text == "Gateways drop packets."
    assert extraction(mode="extractive") == Extraction(("Gateways drop packets.",), (3,))
    assert extraction(mode="auto").cause == "agreement of the generated text 0.00 <= 2.00"
    assert extraction(mode="auto", ood_threshold=1).cause == "agreement with the lead 0.99 < 1.00"


@pytest.mark.parametrize("drawn", [8, 64])
def test_the_weight_of_the_lead_does_not_depend_on_the_number_of_samples(drawn: int) -> None:
    text = "Hosts wait for answers. Apples rot. Gateways drop packets."
    written = [Generated("Plums fall.", -1.0, ("Gateways sing loud songs.",) * drawn)]
    assert extract(written, text, mode="auto", ood_threshold=2) == text


def test_samples_have_weights() -> None:
    samples = ("Hosts send packets to gateways.", "Apples fall from trees.")
    assert extract([Generated("", -1.0, samples, (0.9, 0.1))]) == "Hosts send packets to gateways."
    assert extract([Generated("", -1.0, samples, (0.1, 0.9))]) == "Apples fall from trees."


@pytest.mark.parametrize(
    ("text", "stays"), [("Gateways drop packets.", False), ("Gateways drop packets. Hosts fall.", True)]
)
def test_auto_keeps_what_agrees_more_than_sentences(text: str, stays: bool) -> None:
    samples = ("Gateways drop packets. Hosts fall.", "Gateways drop packets. Hosts fall.")
    sentences = "Gateways drop packets. Hosts fall far."
    for keep_threshold in (0, 2):
        found = extract([Generated(text, -1.0, samples)], sentences, mode="auto", keep_threshold=keep_threshold)
        assert (found == "") == (stays and not keep_threshold)


def test_auto_says_where_it_takes_sentences(run_folder: Path) -> None:
    told = [Document(str(number), story(number, 12)) for number in range(8)]
    notes: list[str] = []
    overrides = ["summarize.mode=auto", "summarize.samples=3"]
    found = list(summarize(told, run_folder, overrides=overrides, report=lambda progress: notes.append(progress.note)))
    expected = [summary for summary in found if summary.mode == "extractive"]
    assert [note for note in notes if note and not note.startswith("model: ")] == [
        f"{summary.id}: extractive summary ({summary.extraction.cause})" for summary in expected
    ]
    assert all(summary.extraction.cause.startswith("agreement of the generated text 0.") for summary in expected)
    assert expected


def test_samples_do_not_depend_on_the_batch(run_folder: Path) -> None:
    told = [Document(str(number), story(number, 4 + 3 * number)) for number in range(5)]
    overrides = ["summarize.mode=extractive"]
    together = [summary.summary for summary in summarize(told, run_folder, overrides=overrides)]
    alone = [summary.summary for each in told for summary in summarize([each], run_folder, overrides=overrides)]
    assert together == alone


def test_summaries_say_what_they_are(run_folder: Path) -> None:
    told = [Document(str(number), story(number, 12)) for number in range(5)]
    for mode in ("abstractive", "extractive"):
        for document, summary in zip(
            told, summarize(told, run_folder, overrides=[f"summarize.mode={mode}"]), strict=True
        ):
            assert summary.mode == mode
            sentences = [part for part in summary.summary.split(". ") if part]
            assert bool(summary.extraction.sentences) == (mode == "extractive")
            if mode == "extractive":
                assert all(part in " ".join(document.text.split()) for part in sentences)


def test_auto_keeps_what_agrees_more_by_a_margin() -> None:
    for keep_margin, stays in ((0, True), (0.5, True), (2, False)):
        samples = ("Gateways drop packets. Hosts fall.",) * 2
        generated = [Generated(samples[0], -1.0, samples)]
        text = extract(
            generated, "Gateways sing loud songs. Hosts wait for ages.", mode="auto", keep_margin=keep_margin
        )
        assert (text == "") == stays


def test_the_agreement_of_a_chosen_text_is_taken_as_given() -> None:
    samples = ("Gateways drop packets. Hosts fall.",) * 2
    for agreement in (0.0, 2.0):
        generated = [Generated(samples[0], -1.0, samples, agreement=agreement)]
        assert (extract(generated, "Gateways sing loud songs. Hosts wait for ages.", mode="auto") == "") == bool(
            agreement
        )
