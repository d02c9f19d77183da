from pathlib import Path
from typing import get_args

import pytest

from sumpool.errors import DataError
from sumpool.special_tokens import UNK
from sumpool.text.tokenizer import UNITS_JSON, Units, load_tokenizer, tokenizer_files
from sumpool.text.units import UnitTokenizer

pytestmark = pytest.mark.slow

TEXTS = {"bytes": "Grüße, 世界", "characters": "Grüße, 世界", "words": "[MAX 1 [MIN 2 ] ]", "pixels": "0 255 16"}


@pytest.fixture(params=get_args(Units))
def tokenizer(request: pytest.FixtureRequest, tmp_path: Path) -> UnitTokenizer:
    return UnitTokenizer.train([TEXTS[request.param]], tmp_path, request.param, 300)


def test_texts_survive_encoding(tokenizer: UnitTokenizer, tmp_path: Path) -> None:
    text = TEXTS[tokenizer.units]
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert min(ids) > 4
    assert max(ids) < tokenizer.vocab_size
    loaded = load_tokenizer(tmp_path)
    assert isinstance(loaded, UnitTokenizer)
    assert loaded.encode(text) == ids
    assert tokenizer_files(tmp_path) == (tmp_path / UNITS_JSON,)


def test_tokens_are_the_units_and_have_bytes_and_word_starts(tokenizer: UnitTokenizer) -> None:
    text = TEXTS[tokenizer.units]
    ids, tokens, starts = tokenizer.encode(text), tokenizer.token_bytes(), tokenizer.word_starts()
    sizes = {"bytes": len(text.encode()), "characters": len(text)}
    assert len(ids) == sizes.get(tokenizer.units, len(text.split()))
    assert len(tokens) == len(starts) == tokenizer.vocab_size
    expected = {"bytes": [b" "], "characters": [b" "]}
    assert [tokens[id] for id in ids if starts[id]] == expected.get(tokenizer.units, text.encode().split())


def test_frequent_words_have_ids_and_others_are_unknown(tmp_path: Path) -> None:
    tokenizer = UnitTokenizer.train(["a b b c c c"], tmp_path, "words", 7)
    assert tokenizer.vocab_size == 7
    assert [token == UNK for token in tokenizer.encode("a b c d")] == [True, False, False, True]


def test_pixels_must_be_bytes(tmp_path: Path) -> None:
    for text in ["12 256", "x", "-1", "1.5", "²", "99999999999"]:
        tokenizer = UnitTokenizer.train([], tmp_path, "pixels", 300)
        with pytest.raises(DataError, match=r"a text of pixels must have numbers from 0 to 255 with spaces"):
            tokenizer.encode(text)


def test_a_damaged_vocabulary_is_named(tmp_path: Path) -> None:
    for content in ["{}", '{"units": "stones"}', "[]", "x"]:
        (tmp_path / UNITS_JSON).write_text(content)
        with pytest.raises(
            DataError, match=r"units\.json must be a vocabulary of units, got: .*; prepare the data again"
        ):
            load_tokenizer(tmp_path)
