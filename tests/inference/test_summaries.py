import threading
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from sumpool.documents.document import Document, ParsedDocument, TextBlock
from sumpool.inference.generation import Generated, Generator
from sumpool.inference.loading import load_for_generation, load_model
from sumpool.inference.mbr_extraction import MbrExtractor
from sumpool.inference.model_choice import SHIPPED
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.summary import Summary
from tests.conftest import story


def test_a_stream_is_not_read_to_its_end_first(run_folder: Path) -> None:
    taken = 0

    def endless() -> Iterator[Document]:
        nonlocal taken
        while True:
            taken += 1
            yield Document(str(taken), story(taken % 7, 4))

    loaded = load_model(run_folder, ["summarize.batch_tokens=200"])
    summaries = Pipeline.of(loaded).summarize(endless())
    assert [next(summaries).id for _ in range(3)] == ["1", "2", "3"]
    assert taken < 100


def test_the_lock_is_free_while_documents_are_read(run_folder: Path) -> None:
    lock = threading.Lock()
    held: list[bool] = []

    def documents() -> Iterator[Document]:
        for number in range(3):
            held.append(lock.locked())
            yield Document(str(number), story(number, 4))

    loaded = load_model(run_folder, ["summarize.batch_tokens=1"])

    for _ in Pipeline.of(loaded).summarize(documents(), check=lambda: held.append(lock.locked()), model_lock=lock):
        held.append(lock.locked())
    assert held == [False] * 9


def test_generated_text_may_be_chosen_among_samples_and_checked(run_folder: Path) -> None:
    documents = [Document(str(number), story(number, 4)) for number in range(3)]

    def summaries(*settings: str) -> list[Summary]:
        return list(Pipeline.of(load_model(run_folder, settings)).summarize(documents))

    chosen = summaries("summarize.mbr=true")
    assert [summary.score for summary in chosen] == [summary.score for summary in summaries()]
    checked = summaries("summarize.mbr=true", "summarize.factuality=spans")
    pairs = zip(documents, checked, strict=True)
    assert all(sentence in document.text for document, summary in pairs for sentence in summary.extraction.sentences)
    assert all(summary.summary for summary in checked)


def test_a_choice_of_source_sentences_is_an_extraction(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = Document("text", f"Hosts send packets. Plums fall. Gateways drop packets. {story(1, 40)}")
    loaded = load_model(run_folder, ["summarize.factuality=facts"])

    def summary(text: str) -> Summary:
        chosen = Generated(text, -1.0, ("Gateways drop plums.",), agreement=1.0)
        monkeypatch.setattr("sumpool.inference.summary_choice.SummaryChooser.choose", lambda *_: chosen)
        (generated,) = Pipeline.of(loaded).summarize([document])
        return generated

    assert summary("Gateways drop packets. Hosts send packets.").extraction.indices == (0, 2)
    assert summary("Gateways drop plums. Hosts send packets.").mode == "abstractive"
    assert summary("").mode == "extractive"
    assert summary("").extraction.cause == "no generated sentence is founded in the document"


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("The tower waits for all its birds. of the birds. It rings the", "The tower waits for all its birds."),
        ("It rings. The tower waits for all its birds (or most.", "The tower waits for all its birds or most."),
        ("of the", "Of the"),
    ],
    ids=["fragments", "reference", "nothing else"],
)
def test_written_summaries_are_well_formed(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, summary: str
) -> None:
    monkeypatch.setattr(Generator, "generate", lambda _, chunks, *__, **___: [Generated(text, -1.0) for _ in chunks])
    loaded = load_model(run_folder, ["summarize.mode=abstractive"])
    (written,) = Pipeline.of(loaded).summarize([Document("a", story(1, 12))])
    assert written.summary == summary
    assert " ".join(written.sentences) == summary


TEXT = "The cat sat on the mat and ate a red apple. It slept well in the sun. " * 12


STRUCTURED = Document.from_parsed("-", ParsedDocument((TextBlock(TEXT.strip()),)))


@pytest.mark.parametrize(
    ("mode", "document", "threshold"),
    [
        ("auto", STRUCTURED, 0),
        pytest.param("auto", Document("-", TEXT), 2, marks=pytest.mark.slow),
        pytest.param("extractive", STRUCTURED, 0, marks=pytest.mark.slow),
    ],
)
def test_texts_that_no_summary_depends_on_are_not_searched(
    mode: str, document: Document, threshold: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ranker alone extracts out of domain, and sentences are preferred in documents with a structure."""
    overrides = [f"summarize.mode={mode}", "summarize.samples=2", f"summarize.ood_threshold={threshold}"]
    loaded = load_for_generation(SHIPPED, overrides)
    drafts: list[str] = []
    searched, *_ = Pipeline.of(loaded).summarize([document], on_draft=lambda _, draft: drafts.append(draft))
    assert bool(drafts) == (mode == "auto")
    if not drafts:
        monkeypatch.setattr(MbrExtractor, "needs_search", lambda *_: True)
        searched, *_ = Pipeline.of(loaded).summarize([document])
        monkeypatch.undo()
    monkeypatch.setattr("sumpool.inference.generation.search", Mock(side_effect=AssertionError))
    summary, *_ = Pipeline.of(loaded).summarize([document])
    assert summary.summary
    assert (summary.sentences, summary.extraction) == (searched.sentences, searched.extraction)
