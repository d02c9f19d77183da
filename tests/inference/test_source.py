from itertools import pairwise
from pathlib import Path

import pytest

from sumpool.documents.document import Document, ParsedDocument, TextBlock
from sumpool.inference.source import encode_source, encoded_sentences, is_prose, locate_sentences, source_sentences
from sumpool.text.hf_bpe import ByteLevelBpeTokenizer
from sumpool.text.load import load_tokenizer
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import Tokenizer, encode_document
from tests.conftest import story
from tests.text.bart import learn, take_over

SPLITTER = SentenceSplitter.default()
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


@pytest.fixture(params=["sentencepiece", "bpe"])
def tokenizer(request: pytest.FixtureRequest, run_folder: Path, tmp_path: Path) -> Tokenizer:
    if request.param == "sentencepiece":
        return load_tokenizer(run_folder)
    return take_over(learn([story(1, 40)], tmp_path / "bart"), tmp_path)


def parsed(*blocks: TextBlock) -> Document:
    return Document.from_parsed("a.pdf", ParsedDocument(blocks))


def texts(document: Document) -> list[str]:
    return [sentence.text for sentence in source_sentences(document, SPLITTER)]


@pytest.mark.parametrize("text", [ODD, story(1, 50), "", "x", "It works. It works.\nIt works.", "A\nB\n\nC"])
def test_sentences_of_a_text_are_in_their_places_and_cover_it(text: str) -> None:
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
    assert [(sentence.text, sentence.kind, sentence.block) for sentence in sentences] == [
        ("TITLE", "heading", 0),
        ("Hosts send packets.", "paragraph", 0),
        ("They work.", "paragraph", 0),
        ("A HEADING", "heading", 1),
        ("ANOTHER", "heading", 1),
        ("Gateways drop packets.", "paragraph", 1),
        ("END", "heading", 2),
    ]


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


def test_the_model_reads_the_prose_of_blocks(tokenizer: Tokenizer) -> None:
    document = parsed(*BLOCKS)
    sentences = source_sentences(document, SPLITTER)
    assert encoded_sentences(document, sentences) == [1, 2, 4, 9, 10]
    source = encode_source(document, sentences, tokenizer, SPLITTER)
    pieces = numbered_texts(source.document.ids.tolist(), source.document.sentences.tolist(), tokenizer)
    assert pieces == [sentences[index].text for index in source.indices]
    assert source.indices == (1, 2, 4, 9, 10)


def test_the_model_reads_all_where_no_block_is_prose(tokenizer: Tokenizer) -> None:
    document = parsed(TextBlock("Gateways", "heading", 1), TextBlock("a | b", "table_row"), TextBlock("c", "list_item"))
    sentences = source_sentences(document, SPLITTER)
    source = encode_source(document, sentences, tokenizer, SPLITTER)
    assert source.indices == (0, 1, 2)


@pytest.mark.parametrize(
    "text", [ODD, story(1, 50), "", "A HEADING\nHosts send (packets. To) gateways.It works. Well."]
)
def test_a_text_without_blocks_is_encoded_as_in_training(text: str, tokenizer: Tokenizer) -> None:
    document = Document("a", text)
    sentences = source_sentences(document, SPLITTER)
    source = encode_source(document, sentences, tokenizer, SPLITTER)
    expected = encode_document(text, tokenizer, SPLITTER, add_special_tokens=False)
    assert source.document.ids.tolist() == expected.ids.tolist()
    assert source.document.sentences.tolist() == expected.sentences.tolist()
    pieces = numbered_texts(source.document.ids.tolist(), source.document.sentences.tolist(), tokenizer)
    assert len(pieces) == len(source.indices)
    for piece, index in zip(pieces, source.indices, strict=True):
        assert piece.endswith(sentences[index].text)
    assert list(source.indices) == sorted(set(source.indices))


def test_pieces_without_tokens_take_no_number(run_folder: Path) -> None:
    tokenizer = load_tokenizer(run_folder)
    document = parsed(TextBlock("Hosts send."), TextBlock("\u3164\u200b x"), TextBlock("Gateways drop packets."))
    sentences = source_sentences(document, SPLITTER)
    assert encode_source(document, sentences, tokenizer, SPLITTER).indices == (0, 1, 2)
    assert encode_source(parsed(), (), tokenizer, SPLITTER).indices == ()


def numbered_texts(ids: list[int], sentences: list[int], tokenizer: Tokenizer) -> list[str]:
    """Texts of the tokens of each sentence number."""
    by_number: dict[int, list[int]] = {}
    for token, number in zip(ids, sentences, strict=True):
        by_number.setdefault(number, []).append(token)
    return [" ".join(tokenizer.decode(by_number[number]).split()) for number in sorted(by_number)]


def test_sentences_of_a_bart_keep_the_spaces_between_them(tmp_path: Path) -> None:
    tokenizer = take_over(learn([story(1, 40)], tmp_path / "bart"), tmp_path)
    assert isinstance(tokenizer, ByteLevelBpeTokenizer)
    document = parsed(TextBlock("Hosts send packets."), TextBlock("Gateways drop them."))
    sentences = source_sentences(document, SPLITTER)
    ids = encode_source(document, sentences, tokenizer, SPLITTER).document.ids.tolist()
    assert tokenizer.decode(ids) == "Hosts send packets. Gateways drop them."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gateways drop [packets]", False),
        ("gateways --drop packets that are long", False),
        ("gateways drop packets that are too long", True),
        ("Gateways drop.", True),
        ('He said: "gateways drop!")', True),
    ],
)
def test_prose_ends_as_a_sentence_or_has_words_in_lower_case(text: str, expected: bool) -> None:
    assert is_prose(text) == expected


def test_a_sentence_of_another_text_has_no_span() -> None:
    assert locate_sentences("Hosts send.", ["Plums fall.", "Hosts send.", ""]) == [None, (0, 11), None]
