from pathlib import Path

import abstracts

from sumpool.documents.document import TextBlock
from tests.documents.formats.pdf_files import pdf, show, show_lines, wrap

TITLE = TextBlock("Trees in R", "heading", 1)
AUTHOR = TextBlock("A. Author, University of Somewhere", "notice")
HEADING = TextBlock("Abstract", "heading", 4)
TEXT = "This paper introduces trees. They are grown by recursive partitioning."
BODY = (TextBlock("1 Introduction", "heading", 1), TextBlock("Trees have been grown for years."))


def test_the_abstract_and_nothing_else_is_taken_out() -> None:
    for before in (
        (HEADING, TextBlock(TEXT)),
        (TextBlock(f"Abstract. {TEXT}"),),
        (TextBlock("ABSTRACT"), TextBlock(TEXT[:28]), TextBlock(TEXT[29:])),
        (HEADING, TextBlock(TEXT), TextBlock("Keywords: trees, R.")),
        (HEADING, TextBlock(TEXT), TextBlock("Contents", "notice"), TextBlock("1 Introduction 2", "notice")),
        (HEADING, TextBlock(f"{TEXT} This article was published in 2008 by the Journal of Trees.")),
        (HEADING, TextBlock(f"{TEXT} a.author@trees.org")),
        (HEADING, TextBlock("This is a preprint of an article."), TextBlock(TEXT)),
        (HEADING, TextBlock("12", "code"), TextBlock(TEXT), TextBlock("Correspondence: A. Author")),
    ):
        blocks = (
            TITLE,
            AUTHOR,
            *before,
            *BODY,
            TextBlock("References", "heading", 1),
            TextBlock("[1] A book on trees."),
        )
        abstract, body = abstracts.split_abstract(blocks)
        assert abstract == TEXT
        assert body == BODY


def test_documents_without_an_abstract_stay_as_they_are() -> None:
    late = (TITLE, *BODY, HEADING, TextBlock(TEXT))
    assert abstracts.split_abstract((TITLE, *BODY)) == ("", (TITLE, *BODY))
    assert abstracts.split_abstract(late) == ("", late)


def test_a_sentence_is_no_heading() -> None:
    sentence = "This long sentence was set in a font of its own, but it is no heading."
    assert abstracts.split_abstract((HEADING, TextBlock(sentence, "heading", 6), *BODY)) == (sentence, BODY)


def test_papers_have_an_abstract_and_a_body() -> None:
    body = (TextBlock("word " * 1000),)
    assert abstracts.is_paper("word " * 40, body)
    assert not abstracts.is_paper("word " * 39, body)
    assert not abstracts.is_paper("word " * 40, BODY)


def test_abstracts_are_looked_for_on_the_first_pages(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    text = show_lines(["Abstract", *wrap("This paper is about trees and how they grow. " * 6, 60)], 72, 700)
    pages = [show("Trees", 72, 700), text, *[show("Text", 72, 700)] * 3]
    file.write_bytes(pdf(pages))
    assert abstracts.has_abstract(file)
    assert not abstracts.has_abstract(file, max_pages=4)
    file.write_bytes(pdf([*pages[2:], *pages[:2]]))
    assert not abstracts.has_abstract(file)
    file.write_bytes(
        pdf([show_lines(["Abstract", "This is short.", "1 Introduction", *["Trees grow."] * 30], 72, 700)])
    )
    assert not abstracts.has_abstract(file)
    file.write_bytes(b"%PDF-1.4 damaged")
    assert not abstracts.has_abstract(file)
