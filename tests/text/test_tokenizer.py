from pathlib import Path

import numpy as np
import pytest

from sumpool.special_tokens import EOS, PARAGRAPH, SpecialTokens
from sumpool.text.hf_tokenizer import HuggingFaceTokenizer
from sumpool.text.sentencepiece_tokenizer import SentencePieceTokenizer
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import (
    EncodedDocument,
    encode_document,
    id_dtype,
    load_tokenizer,
    same_tokenizer,
    tokenizer_files,
)
from tests.text import bart
from tests.text.bart import learn, take_over

SPLITTER = SentenceSplitter()


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> SentencePieceTokenizer:
    texts = ["One sentence. Another one, and more of it!", "A second text has a second sentence."]
    return SentencePieceTokenizer.train(texts, tmp_path_factory.mktemp("tokenizer") / "model", 300, 1)


def test_sentences_have_indices_and_paragraphs_end_with_their_token(tokenizer: SentencePieceTokenizer) -> None:
    document = encode_document("One sentence. Another one.\n\nA second text.", tokenizer, SPLITTER)
    assert document.ids.dtype == np.uint16
    assert document.sentences.dtype == np.int32
    assert sorted(set(document.sentences.tolist())) == [0, 1, 2]
    assert np.flatnonzero(document.ids == PARAGRAPH).tolist() == [
        np.flatnonzero(document.sentences == 1)[-1],
        len(document.ids) - 1,
    ]
    for number, sentence in enumerate(["One sentence.", "Another one.\n", "A second text.\n"]):
        assert document.ids[document.sentences == number].tolist() == tokenizer.encode(sentence)


def test_empty_texts_have_no_tokens(tokenizer: SentencePieceTokenizer) -> None:
    for text in ["", "  \n", "\u200b\u202e"]:
        document = encode_document(text, tokenizer, SPLITTER)
        assert document.ids.shape == document.sentences.shape == (0,)


def test_line_ends_and_unicode_forms_make_no_difference(tokenizer: SentencePieceTokenizer) -> None:
    one = encode_document("Caf\u00e9 is one.\nTwo.\n\nThree.", tokenizer, SPLITTER)
    other = encode_document("\ufeffCafe\u0301 is one.\r\nTwo.\r\n\r\nThree.", tokenizer, SPLITTER)
    assert one.ids.tolist() == other.ids.tolist()
    assert one.sentences.tolist() == other.sentences.tolist()


def test_documents_have_prefix_and_suffix(tmp_path: Path) -> None:
    text = "One sentence. Another one.\n\nA second text."
    tokenizer = take_over(learn([text], tmp_path / "bart"), tmp_path / "ours")
    document = encode_document(text, tokenizer, SPLITTER)
    assert document.ids.tolist() == [bart.BOS, *tokenizer.encode("One sentence. Another one. A second text."), bart.EOS]
    assert document.ids.dtype == np.uint16
    assert document.sentences.dtype == np.int32
    assert document.sentences[[0, 1, -2, -1]].tolist() == [0, 0, 2, 2]
    assert tokenizer.decode(document.ids.tolist()) == "One sentence. Another one. A second text."
    assert tokenizer.decode(document.ids[document.sentences == 1].tolist()) == " Another one."
    assert len(encode_document(" \n", tokenizer, SPLITTER).ids) == 0


def test_prefix_and_suffix_may_have_any_size() -> None:
    document = EncodedDocument(np.array([7, 8, 9], np.uint16), np.array([0, 1, 1], np.int32))
    assert document.with_special_tokens(SpecialTokens()).ids.tolist() == [7, 8, 9]
    framed = document.with_special_tokens(SpecialTokens(prefix=(5, 6), suffix=(EOS,)))
    assert framed.ids.tolist() == [5, 6, 7, 8, 9, EOS]
    assert framed.sentences.tolist() == [0, 0, 0, 1, 1, 1]


def test_eos_survives_truncation() -> None:
    document = EncodedDocument(np.array([5, 7, 8, 9, EOS], np.uint16), np.array([0, 0, 0, 1, 1], np.int32))
    assert document.truncate(5, SpecialTokens()) is document
    for length, ids, sentences in [(4, [5, 7, 8, EOS], [0] * 4), (2, [5, EOS], [0, 0]), (1, [EOS], [0])]:
        truncated = document.truncate(length, SpecialTokens())
        assert (truncated.ids.tolist(), truncated.sentences.tolist()) == (ids, sentences)
        assert truncated.ids.dtype == np.uint16
        assert truncated.sentences.dtype == np.int32
    assert document.ids.tolist() == [5, 7, 8, 9, EOS]
    without_eos = EncodedDocument(document.ids[:4], document.sentences[:4])
    assert without_eos.truncate(2, SpecialTokens()).ids.tolist() == [5, 7]


def test_a_suffix_of_several_tokens_survives_truncation() -> None:
    document = EncodedDocument(np.array([5, 7, 8, 9, 9, EOS, 9], np.uint16), np.array([0, 0, 0, 1, 1, 1, 1], np.int32))
    for length, ids, sentences in [
        (4, [5, 7, EOS, 9], [0, 0, 0, 0]),
        (2, [EOS, 9], [0, 0]),
        (1, [9], [0]),
        (6, [5, 7, 8, 9, EOS, 9], [0, 0, 0, 1, 1, 1]),
    ]:
        truncated = document.truncate(length, SpecialTokens(suffix=(EOS, 9)))
        assert (truncated.ids.tolist(), truncated.sentences.tolist()) == (ids, sentences)


def test_large_vocabularies_need_more_bits() -> None:
    assert id_dtype(65_536) == np.uint16
    assert id_dtype(65_537) == np.int32


TEXTS = ["The end of a document is short. Why?", "Another number is not."]


def test_the_kind_of_tokenizer_follows_from_the_file_name(tmp_path: Path) -> None:
    (tmp_path / "learnt").mkdir()
    SentencePieceTokenizer.train(TEXTS, tmp_path / "learnt" / "tokenizer.model", 290)
    take_over(learn(TEXTS, tmp_path / "bart"), tmp_path / "taken")
    learnt = load_tokenizer(tmp_path / "learnt")
    assert isinstance(learnt, SentencePieceTokenizer)
    assert learnt.special_tokens == SpecialTokens(0, 3, 2, (0, 1, 2), (), ())
    assert isinstance(load_tokenizer(tmp_path / "taken"), HuggingFaceTokenizer)
    assert [path.name for path in tokenizer_files(tmp_path / "taken")] == ["tokenizer.json", "vocabulary.json"]
    assert [path.name for path in tokenizer_files(tmp_path / "learnt")] == ["tokenizer.model"]
    assert same_tokenizer(tmp_path / "taken", tmp_path / "taken")
    assert not same_tokenizer(tmp_path / "taken", tmp_path / "learnt")
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "tokenizer.json").write_bytes((tmp_path / "taken" / "tokenizer.json").read_bytes())
    assert not same_tokenizer(tmp_path / "taken", tmp_path / "part")
