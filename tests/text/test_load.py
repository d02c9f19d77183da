from pathlib import Path

import pytest

from sumpool.errors import DataError
from sumpool.special_tokens import SpecialTokens
from sumpool.text.hf_tokenizer import HuggingFaceTokenizer
from sumpool.text.sentencepiece_tokenizer import SentencePieceTokenizer
from sumpool.text.tokenizer import load_tokenizer, same_tokenizer, tokenizer_files
from tests.text.bart import learn, take_over

TEXTS = ["The end of a document is short. Why?", "Another number is not."]


def test_the_kind_of_tokenizer_follows_from_the_file_name(tmp_path: Path) -> None:
    (tmp_path / "learnt").mkdir()
    SentencePieceTokenizer.train(TEXTS, tmp_path / "learnt" / "tokenizer.model", 290)
    take_over(learn(TEXTS, tmp_path / "bart"), tmp_path / "taken")
    assert isinstance(load_tokenizer(tmp_path / "learnt"), SentencePieceTokenizer)
    assert isinstance(load_tokenizer(tmp_path / "taken"), HuggingFaceTokenizer)
    assert [path.name for path in tokenizer_files(tmp_path / "taken")] == ["tokenizer.json", "vocabulary.json"]
    assert [path.name for path in tokenizer_files(tmp_path / "learnt")] == ["tokenizer.model"]
    assert same_tokenizer(tmp_path / "taken", tmp_path / "taken")
    assert not same_tokenizer(tmp_path / "taken", tmp_path / "learnt")
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "tokenizer.json").write_bytes((tmp_path / "taken" / "tokenizer.json").read_bytes())
    assert not same_tokenizer(tmp_path / "taken", tmp_path / "part")


def test_a_learnt_vocabulary_has_the_default_special_tokens(tmp_path: Path) -> None:
    special = SentencePieceTokenizer.train(TEXTS, tmp_path / "tokenizer.model", 290).special_tokens
    assert special == SpecialTokens(0, 3, 2, (0, 1, 2), (), ())


def test_token_bytes_equal_decoded_text(tmp_path: Path) -> None:
    tokenizer = SentencePieceTokenizer.train(TEXTS, tmp_path / "tokenizer.model", 290)
    ids = tokenizer.encode("The \u6f22\nend")
    assert b"".join(tokenizer.token_bytes()[token] for token in ids).decode().replace("\n ", "\n") == " The \u6f22\nend"
    assert tokenizer.token_bytes()[:6] == [b"", b"", b"", b"", b"\n", b"\0"]


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"tokenizer\.model must be a SentencePiece model, got .*No such file"):
        load_tokenizer(tmp_path)
