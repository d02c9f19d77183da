"""Sources of summaries, and key points, sections, a focus and digests as `summarize --fast` selects them."""

import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from sumpool import DataError, RecipeError
from sumpool.documents.document import Document, ParsedDocument, TextBlock
from sumpool.documents.read import join_documents
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.inference.evidence import MAX_SOURCES, top_sources, with_evidence
from sumpool.inference.loading import LoadedModel, load_for_generation
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.rendering import Format, Rendering
from sumpool.inference.run_files import RunFiles
from sumpool.inference.summary import Summary, SummarySentence
from sumpool.io.manifest import SHIPPED
from sumpool.ranking.sentence_selector import focus_similarity
from sumpool.text.sentences import SentenceSplitter
from sumpool.workflows.summarize import summarize_in_processes
from tests.conftest import story


def load(run_folder: Path, mode: str) -> LoadedModel:
    return load_for_generation(run_folder, [f"summarize.mode={mode}", "summarize.on_overflow=select"])


@pytest.mark.parametrize("mode", ["abstractive", "extractive"])
@pytest.mark.parametrize("sentences", [6, 40])
def test_weights_are_those_of_source_sentences(run_folder: Path, mode: str, sentences: int) -> None:
    documents = [Document(str(number), story(number, sentences)) for number in range(2)]
    loaded = load(run_folder, mode)
    plain = list(Pipeline.of(loaded).summarize(documents))
    explained = list(Pipeline.of(loaded).summarize(documents, evidence="sources"))
    for document, before, after in zip(documents, plain, explained, strict=True):
        assert after.text == before.text
        assert after.evidence is not None
        assert " ".join(sentence.sentence for sentence in after.evidence) == " ".join(before.text.split())
        for sentence in after.evidence:
            assert 1 <= len(sentence.sources) <= MAX_SOURCES
            assert 0 < sum(source.weight for source in sentence.sources) <= 1 + 1e-9
            for source in sentence.sources:
                assert " ".join(document.text[source.start : source.end].split()) == source.text
                assert source.line == document.text[: source.start].count("\n") + 1
            weights = [source.weight for source in sentence.sources]
            assert weights == sorted(weights, reverse=True)


def test_light_sources_are_left_out_but_for_the_heaviest() -> None:
    sentences = [SourceSentence(f"Host {number}.", 0, 7) for number in range(5)]
    for weights, indices in (
        ([0.02, 0.3, 0.06, 0.2, 0.25], [1, 4, 3]),
        ([0.9, 0.0, 0.04, 0.0, 0.06], [0, 4]),
        ([0.01, 0.02, 0.0, 0.0, 0.0], [1]),
        ([0.0] * 5, []),
    ):
        assert [source.index for source in top_sources(sentences, np.array(weights))] == indices


def test_extracted_sentences_are_their_own_source(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = Document("1", story(1, 12))
    loaded = load(run_folder, "extractive")
    (summary,) = Pipeline.of(loaded).summarize([document])
    reading = Pipeline.of(loaded).read(document)
    monkeypatch.setattr(loaded.model, "encode", None)
    explained = with_evidence(summary, reading, lambda: loaded)
    assert explained.evidence is not None
    assert explained.read is None
    for sentence, index in zip(explained.evidence, summary.indices, strict=True):
        (source,) = sentence.sources
        assert (source.index, source.weight, source.text) == (index, 1.0, sentence.sentence)
        assert sentence.unsupported == ()


def test_blocks_give_pages_and_lines(run_folder: Path) -> None:
    blocks = tuple(TextBlock(text, page=4, line=7) for text in story(1, 12).split("\n\n"))
    document = Document("1", story(1, 12), blocks=blocks)
    (summary,) = Pipeline.of(load(run_folder, "abstractive")).summarize([document], evidence="sources")
    assert summary.evidence is not None
    sources = summary.evidence[0].sources
    assert {(source.page, source.line) for source in sources} == {(4, 7)}
    assert sources[0].place == "page 4, line 7"


def test_unsupported_facts_are_marked(run_folder: Path) -> None:
    loaded = load(run_folder, "extractive")
    document = Document("1", "Hosts send 12 packets to ARPA.\n\nGateways drop them.", title="Memo of Postel")
    text = "Hosts of Postel send 42 packets to ARPA and MIT."
    summary = Summary("1", text, 0.0, 9, 9, sentences=(SummarySentence(text, (0, 30), 0),))
    evidence = with_evidence(summary, Pipeline.of(loaded).read(document), lambda: loaded).evidence
    assert evidence is not None
    assert evidence[0].unsupported == ("42", "MIT")


def test_summaries_without_text_have_no_evidence(run_folder: Path) -> None:
    documents = [Document("1", ""), Document("2", "", error="missing")]
    for summary in Pipeline.of(load(run_folder, "abstractive")).summarize(documents, evidence="sources"):
        assert summary.evidence is None
        assert "evidence" not in json.loads(summary.as_json())


def test_a_run_is_loaded_once(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_once = Mock(return_value=load(run_folder, "abstractive"))
    monkeypatch.setattr("sumpool.inference.loading.load_run", load_once)
    documents = [Document(str(number), story(number, 6)) for number in range(2)]
    pipeline = Pipeline.open(RunFiles.open(run_folder, ["summarize.mode=abstractive"]))
    assert all(summary.evidence for summary in pipeline.summarize(documents, evidence="sources"))
    load_once.assert_called_once()


@pytest.mark.slow
def test_processes_give_the_same_evidence(run_folder: Path) -> None:
    documents = [Document(str(number), story(number, 12)) for number in range(3)]
    loaded = load(run_folder, "extractive")
    expected = [summary.evidence for summary in Pipeline.of(loaded).summarize(documents, evidence="sources")]
    run = RunFiles.open(run_folder, ["summarize.mode=extractive"])
    results = summarize_in_processes(documents, run, jobs=1, evidence="sources")
    assert [summary.evidence for summary in results] == expected


CHAPTERS = {
    "Gateways": "The gateway forwards packets between two networks. It keeps a table of routes for them.",
    "Orchards": "The orchard grows apples and pears for the market. Farmers harvest them in autumn.",
    "Weights & fees": "A shipment is charged by its weight in kilograms. Heavy ones pay a second fee at the border.",
    "Archives": "The archive keeps letters of the last two centuries. Visitors read them in a quiet room.",
}


def manual(chapters: dict[str, str], filler: int = 6) -> Document:
    blocks = [TextBlock("Handbook", "heading", 1, 1)]
    blocks.append(TextBlock("This handbook describes how four departments of the town do their work.", page=1))
    for page, (heading, text) in enumerate(chapters.items(), 2):
        blocks += [TextBlock(heading, "heading", 2, page), TextBlock(text, page=page)]
        blocks += [
            TextBlock(f"Room {number} of it has a green door and a bell.", page=page) for number in range(filler)
        ]
    return Document.from_parsed("manual.pdf", ParsedDocument(tuple(blocks), "Handbook"))


def summarized(*documents: Document, settings: tuple[str, ...] = ()) -> Summary:
    pipeline = Pipeline.open(RunFiles.open(SHIPPED, ["summarize.fast=true", *settings]))
    document = documents[0] if len(documents) == 1 else join_documents(documents)
    return next(pipeline.summarize([document], evidence="sources"))


@pytest.fixture(scope="module")
def summary() -> Summary:
    return summarized(manual(CHAPTERS), settings=("summarize.sections=true", "summarize.key_points=3"))


def test_sections_have_their_heading_page_and_a_sentence(summary: Summary) -> None:
    assert summary.sections
    assert [(section.heading.text, section.heading.page) for section in summary.sections] == [
        (heading, page) for page, heading in enumerate(CHAPTERS, 2)
    ]
    for section, text in zip(summary.sections, CHAPTERS.values(), strict=True):
        assert [sentence.text in text for sentence in section.sentences] == [True]
        assert section.sentences[0].page == section.heading.page


def test_key_points_are_other_sentences_than_those_of_the_summary(summary: Summary) -> None:
    assert summary.key_points
    assert len(summary.key_points) == 3
    assert not {point.index for point in summary.key_points} & set(summary.indices)
    assert len({point.page for point in summary.key_points}) == 3  # the sections have a turn
    manual_of_orchards = manual(
        {"Orchards": "The orchard grows apples. The handbook says how departments of the town do work."}
    )
    repeated = summarized(manual_of_orchards, settings=("summarize.key_points=9", "summarize.length=1s"))
    assert repeated.text == "This handbook describes how four departments of the town do their work."
    assert [point.text for point in repeated.key_points or () if "town" in point.text] == []


def test_a_book_has_a_sentence_of_its_chapters() -> None:
    long = " ".join(f"Room {number} of it has a green door, a bell and {number} chairs." for number in range(1200))
    book = summarized(manual({heading: f"{text} {long}" for heading, text in CHAPTERS.items()}, 0))
    assert {book.source[index].page for index in book.indices} == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("heading", CHAPTERS)
def test_a_focus_selects_the_section_under_a_heading(heading: str) -> None:
    chosen = summarized(manual(CHAPTERS), settings=(f"summarize.focus={json.dumps(f'What about {heading}?')}",))
    assert any(sentence.text in CHAPTERS[heading] for sentence in chosen.sentences)
    assert all(chosen.source[index].kind != "heading" for index in chosen.indices)


def test_a_focus_that_the_document_lacks_is_said() -> None:
    settings = ("summarize.focus=submarine",)
    assert "no sentence has a word of the focus" in summarized(manual(CHAPTERS), settings=settings).cause
    with pytest.raises(RecipeError, match=r"summarize\.mode must be extractive for a focus, got 'abstractive'"):
        RunFiles.open(SHIPPED, [*settings, "summarize.mode=abstractive"])


def test_similarity_counts_own_words_headings_and_rare_words_most() -> None:
    document = manual(CHAPTERS, 1)
    reading = Pipeline.open(RunFiles.open(SHIPPED, ["summarize.fast=true"])).read(document)
    similarity = focus_similarity(document, reading.sentences, "the fee, and a green light", "en").tolist()
    by_text = dict(zip((sentence.text for sentence in reading.sentences), similarity, strict=True))
    texts = (
        "Heavy ones pay a second fee at the border.",  # and the heading
        "A shipment is charged by its weight in kilograms.",  # the heading
        "Room 0 of it has a green door and a bell.",  # a word of every section
        "This handbook describes how four departments of the town do their work.",
    )
    own, heading, common, none = (by_text[text] for text in texts)
    assert own > heading > common > none == 0
    assert not focus_similarity(document, reading.sentences, "the and", "en").any()
    # a word in four times as many sentences of a section tells twice as much of the others
    manuals = [manual({"Border": "It has a fee."}, filler) for filler in (3, 15)]
    many, few = (
        focus_similarity(text, source_sentences(text, SentenceSplitter()), "fee", "en")[-1] for text in manuals
    )
    assert many == pytest.approx(2 * few) != 0


def test_a_digest_names_documents_and_says_nothing_twice() -> None:
    first = manual(CHAPTERS)
    other = replace(
        manual({"Trains": "The railway carries coal from the mines to the harbour. It has nine stations."}), id="b.pdf"
    )
    digest = summarized(first, other)
    assert digest.id == "manual.pdf, b.pdf"
    assert digest.text.count("This handbook describes") == 1
    assert digest.evidence
    named = {source.document for entry in digest.evidence for source in entry.sources}
    assert named == {"manual.pdf", "b.pdf"}
    assert digest.text.endswith("[b.pdf]")
    assert "manual.pdf, page" in Rendering().render(digest)
    assert digest.evidence[0].entry()["sources"][0]["document"] == "manual.pdf"
    retold = CHAPTERS["Archives"].replace("keeps letters", "keeps old letters")
    long = summarized(first, replace(manual({"Old": retold}), id="b.pdf"), settings=("summarize.length=400w",))
    assert long.text.count("letters of the last two centuries") == 1
    copied = summarized(first, replace(first, id="copy.pdf"))
    assert (copied.cause, "copy.pdf" in copied.text) == ("no sentence of copy.pdf", False)


def test_documents_of_a_digest_begin_with_their_titles() -> None:
    plain = Document("x/a.txt", "Hosts send packets to the gateway.")
    joined = join_documents([manual(CHAPTERS), plain, replace(plain, id="y/a.txt")])
    assert [part.id for part in joined.parts] == ["manual.pdf", "x/a.txt", "y/a.txt"]
    headings = [(block.text, block.level) for block in joined.blocks if block.kind == "heading"]
    assert headings == [("Handbook", 1), *((heading, 2) for heading in CHAPTERS), ("x/a.txt", 1), ("y/a.txt", 1)]
    assert joined.text == "\n\n".join(block.text for block in joined.blocks)
    for documents, reason in (
        ([], "a digest must have documents, got none"),
        ([Document("z", " ")], "z must hold text"),
    ):
        with pytest.raises(DataError, match=reason):
            join_documents(documents)


@pytest.mark.parametrize("format", ["text", "markdown", "json", "html"])
def test_every_format_has_key_points_and_sections(summary: Summary, format: Format) -> None:
    assert summary.key_points
    for shown in (summary, replace(summary, evidence=None)):
        text = Rendering(format).render(shown)
        assert ("Weights &amp; fees" if format == "html" else "Weights & fees") in text
        assert text.count(summary.key_points[0].text) >= 1
        assert format not in ("text", "markdown") or "\n- Gateways (page 2): The gateway" in text
        assert ('"page": 4' if format == "json" else "page 4") in text
    if format == "html":
        assert f'href="#d{summary.key_points[0].index}"' in Rendering(format).render(summary)
        assert f'id="d{summary.key_points[0].index}"' in Rendering(format).render(summary)
