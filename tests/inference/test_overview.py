"""Key points, sections, a focus and digests, by the shipped ranker alone as `summarize --fast` selects sentences."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sumpool import DataError, RecipeError, Summarizer
from sumpool.documents.document import Document, ParsedDocument, TextBlock
from sumpool.documents.read import join_documents
from sumpool.documents.source_sentences import source_sentences
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.rendering import Format, Rendering
from sumpool.inference.run_files import RunFiles
from sumpool.inference.summary import Summary
from sumpool.io.manifest import SHIPPED
from sumpool.ranking.sentence_selector import focus_similarity
from sumpool.text.sentences import SentenceSplitter

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
    reading = Pipeline.open(RunFiles.open(SHIPPED, ["summarize.fast=true"])).read(document, for_model=False)
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


def test_the_api_has_all_of_it(run_folder: Path, tmp_path: Path) -> None:
    summarizer = Summarizer.load(run_folder)
    result = summarizer.summarize([manual(CHAPTERS)], key_points=2, sections=True, focus="orchards")[0]
    assert result.key_points
    assert len(result.key_points) == 2
    assert result.sections
    assert [section.heading.text for section in result.sections] == list(CHAPTERS)
    assert "orchard" in result.text
    digest = summarizer.summarize([manual(CHAPTERS), Document("b", "Hosts send packets to it.")], together=True)
    assert digest.text.endswith("[b]")
    with pytest.raises(RecipeError, match="key_points must be at most 100, got 200"):
        summarizer.summarize("Hosts send packets.", key_points=200)
    missing = tmp_path / "missing.txt"
    with pytest.raises(DataError, match="missing"):
        summarizer.summarize([missing], together=True)


def test_documents_without_a_sentence_in_the_digest_are_named() -> None:
    first = manual(CHAPTERS)
    digest = summarized(first, replace(first, id="copy.pdf"))
    assert digest.cause == "no sentence of copy.pdf"
    assert "copy.pdf" not in digest.text
