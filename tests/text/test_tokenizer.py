from pathlib import Path

import pytest

from sumpool.errors import DataError
from sumpool.text.byte_pairs import BytePairs
from sumpool.text.sentence_pieces import SentencePieces
from sumpool.text.tokenizer import Frame, load_tokenizer, tokenizer_file
from tests.text.bart import learn, take_over

TEXTS = ["The end of a document is short. Why?", "Another number is not."]


def test_a_folder_is_read_with_the_tokenizer_that_it_holds(tmp_path: Path) -> None:
    (tmp_path / "learnt").mkdir()
    SentencePieces.train(TEXTS, tmp_path / "learnt" / "tokenizer.model", 290)
    take_over(learn(TEXTS, tmp_path / "bart"), tmp_path / "taken")
    assert isinstance(load_tokenizer(tmp_path / "learnt"), SentencePieces)
    assert isinstance(load_tokenizer(tmp_path / "taken"), BytePairs)
    assert tokenizer_file(tmp_path / "taken").name == "tokenizer.json"


def test_a_learnt_vocabulary_has_no_frame(tmp_path: Path) -> None:
    assert SentencePieces.train(TEXTS, tmp_path / "tokenizer.model", 290).frame == Frame()


def test_surfaces_spell_what_is_decoded(tmp_path: Path) -> None:
    tokenizer = SentencePieces.train(TEXTS, tmp_path / "tokenizer.model", 290)
    ids = tokenizer.encode("The \u6f22\nend")
    assert b"".join(tokenizer.surfaces()[piece] for piece in ids).decode().replace("\n ", "\n") == " The \u6f22\nend"
    assert tokenizer.surfaces()[:6] == [b"", b"", b"", b"", b"\n", b"\0"]


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"tokenizer\.model must be a SentencePiece model, got .*No such file"):
        load_tokenizer(tmp_path)
