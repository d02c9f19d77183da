import pytest
import sentencepiece

from sumpool.errors import DataError
from sumpool.text.unigram import train_unigram

LINES = ["the cat sat on the mat", "a dog sat on the log", "the frog sat in the bog"]
RULE = "data.vocabulary must hold every character"


def longest(model: bytes) -> int:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return max(len(processor.id_to_piece(index)) for index in range(3, processor.vocab_size()))


def test_the_same_lines_give_the_same_model() -> None:
    lines = LINES * 20
    model = train_unigram(lines, 40, 1, {}, RULE)
    assert model == train_unigram(lines, 40, 1, {}, RULE)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    assert processor.decode(processor.encode(LINES[0])) == LINES[0]


def test_settings_reach_the_trainer() -> None:
    lines = LINES * 20
    assert longest(train_unigram(lines, 40, 1, {}, RULE)) > 2
    assert longest(train_unigram(lines, 40, 1, {"max_sentencepiece_length": 2}, RULE)) == 2


def test_no_text_or_too_many_characters_are_refused() -> None:
    with pytest.raises(DataError, match="the training documents must hold some text, got none"):
        train_unigram([], 40, 1, {}, RULE)
    with pytest.raises(DataError, match=r"data\.vocabulary must hold every character, got 5; take a larger one"):
        train_unigram(LINES, 5, 1, {}, RULE)


def test_lack_of_memory_is_not_taken_for_a_small_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    def train(**_: object) -> None:
        raise RuntimeError("std::bad_alloc")

    monkeypatch.setattr(sentencepiece.SentencePieceTrainer, "train", train)
    with pytest.raises(RuntimeError, match="bad_alloc"):
        train_unigram(LINES, 40, 1, {}, RULE)
