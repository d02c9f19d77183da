from itertools import pairwise

from sumpool.documents.document import Document, ParsedDocument, TextBlock
from sumpool.documents.source_sentences import locate_sentences, source_sentences
from sumpool.text.sentences import SentenceSplitter
from tests.conftest import story

SPLITTER = SentenceSplitter()
ODD = (
    "\ufeffA ti\u00adtle\r\n\r\nHEADING\r\n\r\nHosts  send\u200b packets.\u2028It works. "
    "HEADING\tis said.\n\n\nIt works.\x0c\x1b"
)
BLOCKS = (
    TextBlock("Gateways", "heading", 1, page=1, line=1),
    TextBlock("Hosts send packets. Gateways dr\u00adop them", page=1, line=3),
    TextBlock("drop packets", "list_item", 1, page=2, line=5),
    TextBlock("Routers send packets to hosts.", "list_item", 1, page=2, line=6),
    TextBlock("a | b. c | d", "table_row", page=2, line=7),
    TextBlock("if x:\n\n    drop(). Then\n", "code", page=2, line=8),
    TextBlock("Figure 1. A gateway.", "caption", page=3, line=12),
    TextBlock("It works. It works.", page=3, line=14),
)


def parsed(*blocks: TextBlock) -> Document:
    return Document.from_parsed("a.pdf", ParsedDocument(blocks))


def texts(document: Document) -> list[str]:
    return [sentence.text for sentence in source_sentences(document, SPLITTER)]


def test_sentences_of_a_text_are_in_their_places_and_cover_it() -> None:
    for text in [ODD, story(1, 50), "", "x", "It works. It works.\nIt works.", "A\nB\n\nC"]:
        sentences = source_sentences(Document("a", text), SPLITTER)
        for sentence in sentences:
            located = text[sentence.start : sentence.end].replace("\u00ad", "").replace("\u200b", "")
            assert " ".join(located.split()) == sentence.text
        assert all(first.end <= second.start for first, second in pairwise(sentences))
        assert "".join("".join(sentence.text.split()) for sentence in sentences) == "".join(
            character for character in text if character not in "\ufeff\u00ad\u200b\x0c\x1b" and not character.isspace()
        )


def test_headings_in_capitals_are_sentences_of_their_own() -> None:
    text = "TITLE\nHosts send packets. They work.\n\nA HEADING\n\nANOTHER\nGateways drop packets.\n\nEND"
    sentences = source_sentences(Document("a", text), SPLITTER)
    assert [sentence.block for sentence in sentences] == [0, 1, 1, 2, 3, 4, 5]
    headings = [sentence.text for sentence in sentences if sentence.kind == "heading"]
    assert headings == ["TITLE", "A HEADING", "ANOTHER"]


def test_blocks_are_split_one_by_one() -> None:
    document = parsed(*BLOCKS)
    sentences = source_sentences(document, SPLITTER)
    assert [(sentence.text, sentence.block, sentence.page, sentence.line) for sentence in sentences] == [
        ("Gateways", 0, 1, 1),
        ("Hosts send packets.", 1, 1, 3),
        ("Gateways drop them", 1, 1, 3),
        ("drop packets", 2, 2, 5),
        ("Routers send packets to hosts.", 3, 2, 6),
        ("a | b. c | d", 4, 2, 7),
        ("if x: drop(). Then", 5, 2, 8),
        ("Figure 1.", 6, 3, 12),
        ("A gateway.", 6, 3, 12),
        ("It works.", 7, 3, 14),
        ("It works.", 7, 3, 14),
    ]
    for sentence in sentences:
        assert sentence.kind == document.blocks[sentence.block].kind
        located = document.text[sentence.start : sentence.end].replace("\u00ad", "")
        assert " ".join(located.split()) == sentence.text


def test_sentences_are_located_within_words_and_not_in_another_text() -> None:
    first, second = "\u4e3b\u673a\u3002", "\u5305\u3002"
    assert locate_sentences(first + second, [first, second]) == [(0, 3), (3, 5)]
    assert locate_sentences("Hosts send.", ["Plums fall.", "Hosts send.", ""]) == [None, (0, 11), None]


def test_joiners_are_part_of_sentences_and_their_spans() -> None:
    text = "\u06a9\u062a\u0627\u0628\u200c\u0647\u0627 \u0628\u0648\u062f. \u0645\u06cc\u200c\u0634\u062f\u200b."
    sentences = source_sentences(Document("a", text), SentenceSplitter("fa"))
    assert [sentence.text for sentence in sentences] == [text[:12], text[13:].replace("\u200b", "")]
    assert [text[sentence.start : sentence.end] for sentence in sentences] == [text[:12], text[13:]]
