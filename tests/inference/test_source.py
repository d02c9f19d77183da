from pathlib import Path

import pytest

from sumpool.documents.document import Document, TextBlock
from sumpool.documents.source_sentences import source_sentences
from sumpool.inference.source import encode_source, encoded_sentences
from sumpool.text.hf_tokenizer import HuggingFaceTokenizer
from sumpool.text.load import load_tokenizer
from sumpool.text.tokenizer import Tokenizer, join_sentences
from tests.conftest import story
from tests.documents.test_source_sentences import BLOCKS, ODD, SPLITTER, parsed
from tests.text.bart import learn, take_over


@pytest.fixture(params=["sentencepiece", "bpe"])
def tokenizer(request: pytest.FixtureRequest, run_folder: Path, tmp_path: Path) -> Tokenizer:
    if request.param == "sentencepiece":
        return load_tokenizer(run_folder)
    return take_over(learn([story(1, 40)], tmp_path / "bart"), tmp_path)


def test_the_model_reads_the_prose_of_blocks(tokenizer: Tokenizer) -> None:
    document = parsed(*BLOCKS)
    sentences = source_sentences(document, SPLITTER)
    assert encoded_sentences(document, sentences) == [1, 2, 3, 4, 9, 10]
    source = encode_source(document, sentences, tokenizer, SPLITTER)
    pieces = numbered_texts(source.document.ids.tolist(), source.document.sentences.tolist(), tokenizer)
    assert pieces == [sentences[index].text for index in source.indices]
    assert source.indices == (1, 2, 3, 4, 9, 10)


def test_the_model_reads_all_where_no_block_is_prose(tokenizer: Tokenizer) -> None:
    document = parsed(TextBlock("Gateways", "heading", 1), TextBlock("a | b", "table_row"), TextBlock("c", "caption"))
    sentences = source_sentences(document, SPLITTER)
    source = encode_source(document, sentences, tokenizer, SPLITTER)
    assert source.indices == (0, 1, 2)


def test_a_text_without_blocks_is_encoded_as_in_training(tokenizer: Tokenizer) -> None:
    for text in (ODD, story(1, 50), "", "A HEADING\nHosts send (packets. To) gateways.It works. Well."):
        document = Document("a", text)
        sentences = source_sentences(document, SPLITTER)
        source = encode_source(document, sentences, tokenizer, SPLITTER)
        expected = join_sentences(tokenizer.encode_sentences(text, SPLITTER), tokenizer.vocab_size)
        assert source.document.ids.tolist() == expected.ids.tolist()
        assert source.document.sentences.tolist() == expected.sentences.tolist()
        pieces = numbered_texts(source.document.ids.tolist(), source.document.sentences.tolist(), tokenizer)
        assert len(pieces) == len(source.indices)
        for piece, index in zip(pieces, source.indices, strict=True):
            assert piece.endswith(sentences[index].text)
        assert list(source.indices) == sorted(set(source.indices))


def test_sentences_are_encoded_in_batches(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, document = load_tokenizer(run_folder), Document("a", f"{story(1, 20)}\n\n{ODD}")
    sentences = source_sentences(document, SPLITTER)
    whole = encode_source(document, sentences, tokenizer, SPLITTER)
    monkeypatch.setattr("sumpool.inference.source._BATCH_SENTENCES", 3)
    batched = encode_source(document, sentences, tokenizer, SPLITTER)
    assert batched.document.ids.tolist() == whole.document.ids.tolist()
    assert batched.document.sentences.tolist() == whole.document.sentences.tolist()
    assert batched.indices == whole.indices


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
    assert isinstance(tokenizer, HuggingFaceTokenizer)
    document = parsed(TextBlock("Hosts send packets."), TextBlock("Gateways drop them."))
    sentences = source_sentences(document, SPLITTER)
    ids = encode_source(document, sentences, tokenizer, SPLITTER).document.ids.tolist()
    assert tokenizer.decode(ids) == "Hosts send packets. Gateways drop them."


def test_rules_belong_to_the_sentence_behind_them(tokenizer: Tokenizer) -> None:
    text = "\n\n".join(
        ("Hosts send packets to gateways.", "=" * 10, "Gateways drop packets.", "-" * 10, "It works there.")
    )
    document = Document("a", text)
    sentences = source_sentences(document, SPLITTER)
    assert [sentence.text for sentence in sentences] == [text.split("\n\n")[place] for place in (0, 2, 4)]
    source = encode_source(document, sentences, tokenizer, SPLITTER)
    pieces = numbered_texts(source.document.ids.tolist(), source.document.sentences.tolist(), tokenizer)
    for piece, index in zip(pieces, source.indices, strict=True):
        assert piece.strip("=- ") in sentences[index].text
