from collections.abc import Callable
from functools import partial
from pathlib import Path

from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.ranking import LengthTarget
from sumpool.documents.document import Document, ParsedDocument, TextBlock
from sumpool.documents.source_sentences import source_sentences
from sumpool.inference.generation import Generated
from sumpool.inference.mbr_extraction import MbrExtractor
from sumpool.inference.model_choice import SHIPPED
from sumpool.inference.summary import Extraction
from sumpool.ranking.sentence_selector import Candidates, SentenceSelector
from sumpool.text.sentences import SentenceSplitter
from sumpool.workflows.summarize import summarize
from tests.conftest import story

TEXT = "\n\n".join(story(number, 8) for number in range(6))
ROW = Document("row", TEXT)
FILE = Document.from_parsed("a.html", ParsedDocument(tuple(TextBlock(part) for part in TEXT.split("\n\n"))))
SENTENCES = source_sentences(ROW, SentenceSplitter())
AGREED = (28, 40)
SAMPLE = " ".join(SENTENCES[index].text for index in AGREED)
SELECTOR = SentenceSelector.load(Path("no run"), SHIPPED)


def candidates(document: Document) -> Callable[[], Candidates]:
    return partial(SELECTOR.candidates, document, SENTENCES, "en")


def extract(
    samples: tuple[str, ...],
    document: Document = ROW,
    text: str = SAMPLE,
    **settings: object,
) -> Extraction:
    extractor = MbrExtractor(DecodingConfig.model_validate({"mode": "extractive", **settings}), SELECTOR)
    return extractor.extract(candidates(document), Generated(text, -1.0, samples))


def test_sentences_that_agree_are_taken_in_their_order() -> None:
    extraction = extract((SAMPLE,) * 3)
    assert set(AGREED) <= set(extraction.indices)
    assert list(extraction.indices) == sorted(extraction.indices)
    assert extraction.sentences == tuple(SENTENCES[index].text for index in extraction.indices)
    assert extraction.cause == ""


def test_nothing_is_taken_where_the_mode_is_abstractive() -> None:
    assert extract((SAMPLE,), mode="abstractive") == Extraction()


def test_sentences_agree_with_the_samples_and_not_with_the_generated_text() -> None:
    samples = (SENTENCES[28].text,) * 4
    extraction = extract(samples, text=SENTENCES[40].text)
    assert 28 in extraction.indices
    assert 40 not in extraction.indices


def test_auto_says_why_sentences_are_taken() -> None:
    samples, unlike = (SAMPLE,) * 3, "Plums fall."
    assert extract(samples, text=unlike, mode="auto", ood_threshold=0).cause == (
        "agreement of the generated text 0.00 <= 2.00"
    )
    assert extract(samples, mode="auto", ood_threshold=2).cause.startswith("agreement with the lead ")
    assert extract(samples, FILE, mode="auto", ood_threshold=0).cause == "whole sentences are preferred"


def test_a_missed_length_is_said_beside_why_sentences_are_taken() -> None:
    extractor = MbrExtractor(DecodingConfig(mode="auto", ood_threshold=0), SELECTOR)
    target = LengthTarget(9_000, in_sentences=False, tokens=0)
    cause = extractor.extract(candidates(FILE), Generated(SAMPLE, -1.0, (SAMPLE,)), target).cause
    assert cause.startswith("whole sentences are preferred; asked for 9,000 words, whole sentences of prose give ")


def test_auto_keeps_what_agrees_more_than_sentences_by_a_margin() -> None:
    samples = ("Gateways drop packets. Hosts fall.",) * 2
    for threshold, margin, stays in ((0, 0, True), (2, 0, False), (0, 2, False)):
        settings = {"mode": "auto", "ood_threshold": 0, "keep_threshold": threshold, "keep_margin": margin}
        found = extract(samples, ROW, samples[0], **settings)
        assert (found.sentences == ()) == stays


def test_the_agreement_of_a_chosen_text_is_taken_as_given() -> None:
    samples = ("Gateways drop packets. Hosts fall.",) * 2
    extractor = MbrExtractor(DecodingConfig(mode="auto", keep_threshold=0, ood_threshold=0), SELECTOR)
    for agreement in (0.0, 2.0):
        generated = Generated(samples[0], -1.0, samples, agreement=agreement)
        assert (extractor.extract(candidates(ROW), generated).sentences == ()) == bool(agreement)


def test_a_search_is_needed_where_generated_text_may_stay() -> None:
    samples = (SAMPLE,) * 2
    for mode, document, threshold, needs in (
        ("abstractive", FILE, 2, True),
        ("auto", FILE, 0, False),
        ("auto", ROW, 0, True),
        ("auto", ROW, 2, False),
    ):
        extractor = MbrExtractor(DecodingConfig.model_validate({"mode": mode, "ood_threshold": threshold}), SELECTOR)
        assert extractor.needs_search(document, samples) == needs


def test_auto_says_where_it_takes_sentences(run_folder: Path) -> None:
    told = [Document(str(number), story(number, 18)) for number in range(8)]
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
    told = [Document(str(number), story(number, 24)) for number in range(5)]
    for mode in ("abstractive", "extractive"):
        for document, summary in zip(
            told, summarize(told, run_folder, overrides=[f"summarize.mode={mode}"]), strict=True
        ):
            assert summary.mode == mode
            sentences = [part for part in summary.summary.split(". ") if part]
            assert bool(summary.extraction.sentences) == (mode == "extractive")
            if mode == "extractive":
                assert all(part in " ".join(document.text.split()) for part in sentences)
