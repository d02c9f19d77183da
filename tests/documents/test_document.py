import pytest

from sumpool.documents.document import Document, ParsedDocument, TextBlock, document_title


def test_empty_blocks_are_dropped_and_long_headings_are_paragraphs() -> None:
    heading, long = "word " * 39 + "word", "word " * 40 + "word"
    blocks = (TextBlock("One."), TextBlock(" "), TextBlock(heading, "heading", 2), TextBlock(long, "heading", 2))
    document = Document.from_parsed("a", ParsedDocument(blocks, "Title", ("note",)))
    assert document.text == f"One.\n\n{heading}\n\n{long}"
    kinds = [(block.kind, block.level) for block in document.blocks]
    assert kinds == [("paragraph", 0), ("heading", 2), ("paragraph", 0)]
    assert (document.title, document.notes) == ("Title", ("note",))


def test_invisible_characters_of_blocks_are_counted() -> None:
    parsed = ParsedDocument((TextBlock("a\u200bb"), TextBlock("c", page=1)), "t\u202e")
    document = Document.from_parsed("a", parsed)
    assert (document.title, document.notes) == ("t", ("2 invisible characters removed",))
    assert document.blocks == (TextBlock("ab"), TextBlock("c", page=1))
    parsed = ParsedDocument((TextBlock("\u200b a \u200b b"), TextBlock("a \u200b b", "code")))
    assert Document.from_parsed("a", parsed).blocks == (TextBlock("a b"), TextBlock("a  b", "code"))


@pytest.mark.parametrize(
    ("headings", "title"),
    [
        (["Water in Towns", "1 Introduction"], "Water in Towns"),
        (["1 Introduction", "2 Rain"], ""),
        (["1. Scope"], ""),
        (["1984", "A Year in Review"], "A Year in Review"),
        (["<PAGE>", "Water in Towns"], "Water in Towns"),
        (["XIV", "The Flood"], "The Flood"),
        (["2 Fast Rivers"], "2 Fast Rivers"),
        (["Mix"], "Mix"),
    ],
)
def test_title_is_the_first_heading_that_is_not_of_a_section(headings: list[str], title: str) -> None:
    blocks = tuple(TextBlock(heading, "heading", 1) for heading in headings)
    assert document_title(Document("1 Introduction.txt", "", blocks=blocks)) == title
