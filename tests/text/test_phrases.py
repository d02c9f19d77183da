from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from sumpool.errors import DataError
from sumpool.text import sentencepiece_tokenizer
from sumpool.text.sentencepiece_tokenizer import Phrases

pytestmark = pytest.mark.slow

WORDS = ([7, 8, 9], [300, 5], [44], [44, 61, 12, 13], [2000, 2001, 2002])


def document(seed: int, words: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids, sentence numbers and word numbers of random words, ten to a sentence."""
    random = np.random.default_rng(seed)
    said = [WORDS[choice] for choice in random.integers(len(WORDS), size=words)]
    ids = np.concatenate(said).astype(np.uint16)
    word = np.repeat(np.arange(words), [len(word) for word in said])
    return ids, word // 10, word


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Phrases:
    path = tmp_path_factory.mktemp("phrases") / "phrases.model"
    return Phrases.train((document(seed)[:2] for seed in range(200)), path, 20)


def test_phrases_are_the_words_that_the_documents_are_made_of(model: Phrases) -> None:
    ids, sentences, words = document(1000)
    indices = model.indices(ids, sentences)
    assert indices.dtype == np.int32
    assert len(indices) == len(ids)
    assert set(np.diff(indices).tolist()) <= {0, 1}
    assert indices.tolist() == words.tolist()


def test_a_phrase_ends_with_its_sentence(model: Phrases) -> None:
    ids = np.array([7, 8, 9, 7, 8, 9])
    assert model.indices(ids, np.zeros(6, int)).tolist() == [0, 0, 0, 1, 1, 1]
    assert model.indices(ids, np.array([0, 0, 1, 1, 3, 3])).tolist() in ([0, 0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5])


def test_sentences_start_no_threads(model: Phrases, monkeypatch: pytest.MonkeyPatch) -> None:
    processor = Mock(wraps=model._processor)
    monkeypatch.setattr(model, "_processor", processor)
    assert model.indices(np.array([7, 8, 9, 44]), np.array([0, 0, 0, 1])).tolist() == [0, 0, 0, 1]
    assert [type(call.args[0]) for call in processor.encode.call_args_list] == [str] * 2


def test_unknown_tokens_in_a_row_are_one_phrase(model: Phrases) -> None:
    assert model.indices(np.array([7, 8, 9, 4000, 4001, 44]), np.zeros(6, int)).tolist() == [0, 0, 0, 1, 1, 2]


def test_any_id_of_the_largest_vocabulary_is_one_character(tmp_path: Path) -> None:
    """No token is normalised away, merged with its neighbour by its script, or split."""
    for ids in (np.arange(50_000), np.array([255_999, 65_536, 0])):
        line = sentencepiece_tokenizer._lines(ids.astype(np.int32), np.zeros(len(ids), int))
        assert [len(part) for part in line] == [len(ids)]
    pairs = np.arange(2000, 44_000, 2)[:, None] + np.arange(2)
    several = np.concatenate([np.tile(pair, 4) for pair in pairs[::400]])
    sentences = np.arange(len(several)) // 8
    indices = Phrases.train([(several, sentences)] * 20, tmp_path / "model", 300).indices(several, sentences)
    assert len(np.unique(indices)) <= len(several) / 2
    assert len(indices) == len(several)


def test_a_long_sentence_is_not_left_out_of_training(tmp_path: Path) -> None:
    ids, _, _ = document(1, 3000)
    one_sentence = np.zeros(len(ids), int)
    model = Phrases.train([(ids, one_sentence)], tmp_path / "model", 20)
    assert len(set(model.indices(ids, one_sentence))) > 1000  # unknown tokens would be a single phrase


def test_fewer_phrases_than_tokens_are_refused(tmp_path: Path) -> None:
    ids = np.arange(500)
    with pytest.raises(DataError, match=r"data\.phrases must hold every token .*, got 300; take a larger one"):
        Phrases.train([(ids, ids // 20)], tmp_path / "model", 300)
