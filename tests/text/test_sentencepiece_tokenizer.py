from pathlib import Path
from unittest.mock import Mock

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from sumpool.errors import DataError
from sumpool.special_tokens import PARAGRAPH, UNK
from sumpool.text.sentencepiece_tokenizer import SentencePieceTokenizer, train_unigram

TEXTS = [f"The {noun} of a long document is short, and number {n} is not. Why?" for n, noun in enumerate("abcdefgh")]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> SentencePieceTokenizer:
    return SentencePieceTokenizer.train(TEXTS, tmp_path_factory.mktemp("tokenizer") / "tokenizer.model", 295, 1)


def test_the_first_tokens_have_fixed_ids(tokenizer: SentencePieceTokenizer) -> None:
    assert tokenizer.tokens()[:6] == ["<pad>", "<unk>", "<s>", "</s>", "\n", "<0x00>"]
    assert tokenizer.vocab_size == len(tokenizer.tokens()) == 295


def test_line_feeds_are_paragraph_tokens_and_the_next_word_starts_a_word(tokenizer: SentencePieceTokenizer) -> None:
    first, second = tokenizer.encode("The document"), tokenizer.encode("is short")
    assert tokenizer.encode("The document\n\nis short\n") == [*first, PARAGRAPH, PARAGRAPH, *second, PARAGRAPH]
    assert tokenizer.decode(tokenizer.encode("The document\nis short\n")) == "The document\nis short\n"


@given(st.text(max_size=60))
def test_every_text_has_tokens_and_batches_equal_single_texts(tokenizer: SentencePieceTokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert UNK not in ids
    assert tokenizer.encode_batch([text, "other", text]) == [ids, tokenizer.encode("other"), ids]


def test_ids_are_decoded_without_special_tokens(tokenizer: SentencePieceTokenizer) -> None:
    text = "漢字 😀 naïve <s> <0x41>"
    assert tokenizer.decode([2, *tokenizer.encode(text), 3, 0, 0]) == text
    assert tokenizer.decode([]) == ""
    with pytest.raises(ValueError, match="ids must be from 0 to 294, got 295"):
        tokenizer.decode([5, 295])


def test_training_twice_gives_the_same_file_and_prints_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    SentencePieceTokenizer.train(TEXTS, tmp_path / "one", 295, 2)
    SentencePieceTokenizer.train(iter(TEXTS), tmp_path / "two", 295, 2)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert capfd.readouterr() == ("", "")


def test_a_long_paragraph_is_not_left_out_of_training(tmp_path: Path) -> None:
    tokenizer = SentencePieceTokenizer.train([*TEXTS, "xylophone " * 5000], tmp_path / "model", 330)
    assert "▁xylophone" in tokenizer.tokens()


def test_a_vocabulary_too_small_for_the_characters_is_refused(tmp_path: Path) -> None:
    letters = " ".join(chr(0x4E00 + number) for number in range(200))
    with pytest.raises(DataError, match=r"data\.vocabulary must hold .* got 300; take a larger one"):
        SentencePieceTokenizer.train([letters], tmp_path / "model", 300)


def test_a_file_that_is_no_model_of_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"no model")
    with (tmp_path / "other").open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXTS), model_writer=file, vocab_size=60, hard_vocab_limit=False, minloglevel=2
        )
    for name, message in [
        ("missing", "missing must be a SentencePiece model, got .*No such file"),
        ("broken", "must be a SentencePiece model"),
        ("other", "must begin with the tokens"),
    ]:
        with pytest.raises(DataError, match=message):
            SentencePieceTokenizer.load(tmp_path / name)


def test_lines_start_no_threads(tokenizer: SentencePieceTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    processor = Mock(wraps=tokenizer._processor)
    monkeypatch.setattr(tokenizer, "_processor", processor)
    assert tokenizer.decode(tokenizer.encode_batch(["The document\nis short", "long"])[0]) == "The document\nis short"
    assert [type(call.args[0]) for call in processor.encode.call_args_list] == [str] * 3
    assert [type(call.args[0][0]) for call in processor.decode.call_args_list] == [int] * 2


def test_lack_of_memory_is_not_taken_for_a_small_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Mock(side_effect=RuntimeError("std::bad_alloc"))
    monkeypatch.setattr(sentencepiece.SentencePieceTrainer, "train", failing)
    with pytest.raises(RuntimeError, match="bad_alloc"):
        train_unigram(TEXTS, 40, 1, {}, "data.vocabulary must hold every character")
