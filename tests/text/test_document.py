import numpy as np
import pytest

from sumpool.pieces import PARAGRAPH
from sumpool.text.document import encode_document, id_type
from sumpool.text.sentence_pieces import SentencePieces
from sumpool.text.sentences import SentenceSplitter

SPLITTER = SentenceSplitter.default()


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> SentencePieces:
    texts = ["One sentence. Another one, and more of it!", "A second text has a second sentence."]
    return SentencePieces.train(texts, tmp_path_factory.mktemp("tokenizer") / "model", 300, 1)


def test_sentences_are_numbered_and_paragraphs_end_with_their_piece(tokenizer: SentencePieces) -> None:
    found = encode_document("One sentence. Another one.\n\nA second text.", tokenizer, SPLITTER)
    assert found.ids.dtype == np.uint16
    assert found.sentences.dtype == np.int32
    assert sorted(set(found.sentences.tolist())) == [0, 1, 2]
    assert np.flatnonzero(found.ids == PARAGRAPH).tolist() == [
        np.flatnonzero(found.sentences == 1)[-1],
        len(found.ids) - 1,
    ]
    for number, sentence in enumerate(["One sentence.", "Another one.\n", "A second text.\n"]):
        assert found.ids[found.sentences == number].tolist() == tokenizer.encode(sentence)


@pytest.mark.parametrize("text", ["", "  \n", "\u200b\u202e"])
def test_nothing_has_no_pieces(tokenizer: SentencePieces, text: str) -> None:
    found = encode_document(text, tokenizer, SPLITTER)
    assert found.ids.shape == found.sentences.shape == (0,)


@pytest.mark.parametrize(
    "text", ["a", "...", "😀\u200d👩", "שלום עולם", "漢字漢字漢字", "e" + "\u0301" * 1000, "\x1b[31m", "\U000e0041\0 x"]
)
def test_odd_texts_have_pieces(tokenizer: SentencePieces, text: str) -> None:
    assert len(encode_document(text, tokenizer, SPLITTER).ids)


def test_line_ends_and_unicode_forms_make_no_difference(tokenizer: SentencePieces) -> None:
    one = encode_document("Caf\u00e9 is one.\nTwo.\n\nThree.", tokenizer, SPLITTER)
    other = encode_document("\ufeffCafe\u0301 is one.\r\nTwo.\r\n\r\nThree.", tokenizer, SPLITTER)
    assert one.ids.tolist() == other.ids.tolist()
    assert one.sentences.tolist() == other.sentences.tolist()


def test_large_vocabularies_need_more_bits() -> None:
    assert id_type(65_536) == np.uint16
    assert id_type(65_537) == np.int32
