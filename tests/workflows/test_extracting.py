from pathlib import Path

import pytest

from sumpool.core.decoding.config import DecodingConfig
from sumpool.documents import Document
from sumpool.text.sentences import SentenceSplitter
from sumpool.workflows.extracting import Extractor
from sumpool.workflows.summarize import summarize
from sumpool.workflows.writing import Written
from tests.workflows.conftest import story

TEXT = "Hosts send packets to gateways.\nApples fall from trees. Gateways drop packets that are\ntoo long."
WRITTEN = Written("Gateways drop packets that are long. Hosts send packets to trees.", -1.0, -1.0)


def extract(written: list[Written], **settings: object) -> str:
    config = DecodingConfig.model_validate({"mode": "extractive", **settings})
    return Extractor(config, SentenceSplitter.default()).extract(TEXT, written)


def test_sentences_that_agree_are_taken_in_their_order() -> None:
    assert extract([WRITTEN]) == "Hosts send packets to gateways. Gateways drop packets that are too long."


def test_nothing_is_taken_where_nothing_agrees() -> None:
    assert extract([Written("Cherries ripen.", -1.0, -1.0)]) == ""
    assert extract([]) == ""


def test_what_the_model_writes_stays_unless_sentences_are_wanted() -> None:
    assert extract([WRITTEN], mode="abstractive") == ""


@pytest.mark.parametrize(
    ("certainties", "stays"), [([-0.9], True), ([-1.1], False), ([-0.5, -1.4], True), ([-0.5, -1.6], False)]
)
def test_auto_keeps_what_the_model_is_sure_of(certainties: list[float], stays: bool) -> None:
    written = [Written(WRITTEN.text, -1.0, certainty) for certainty in certainties]
    assert (extract(written, mode="auto", sure=-1.0) == "") == stays


def test_auto_says_where_it_takes_sentences(run_folder: Path) -> None:
    notes: list[str] = []
    told = [Document("a", story(1, 12))]
    for sure in (0, -100):
        overrides = ["summarize.mode=auto", f"summarize.sure={sure}"]
        list(summarize(told, run_folder, overrides=overrides, report=lambda progress: notes.append(progress.note)))
    assert [note for note in notes if note] == ["a: sentences of the document, as the model is not sure of its own"]


def test_summaries_say_what_they_are(run_folder: Path) -> None:
    told = [Document(str(number), story(number, 12)) for number in range(5)]
    for mode in ("abstractive", "extractive"):
        for document, summary in zip(
            told, summarize(told, run_folder, overrides=[f"summarize.mode={mode}"]), strict=True
        ):
            assert summary.mode == mode
            sentences = [part for part in summary.summary.split(". ") if part]
            assert all(part in " ".join(document.text.split()) for part in sentences) == (mode == "extractive")
