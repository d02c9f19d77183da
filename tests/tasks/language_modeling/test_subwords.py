"""Unigram subwords of words: boundaries inside words and behind them."""

from pathlib import Path

import pytest

from sumpool.errors import DataError
from sumpool.tasks.language_modeling.prepare import WordSubwords

TEXT = "walking talking walks talks walked talked the cat and the dog walk and talk " * 50


def test_boundaries_are_those_of_the_subwords(tmp_path: Path) -> None:
    model = WordSubwords.train(TEXT, tmp_path / "subwords.model", 30)
    text = " walking  the talked"
    segments, segment = [], ""
    for character, is_boundary in zip(text, model.boundaries(text), strict=True):
        segment += character
        if is_boundary:
            segments.append(segment)
            segment = ""
    words = "".join(segments).split(" ")
    assert segments[0] == " "
    assert words[1:4] == ["walking", "", "the"]
    assert all(" " not in part[:-1] for part in segments)
    assert len(segments) > 4
    assert segment
    assert not model.boundaries("walking")[-1]


def test_more_subwords_give_longer_segments(tmp_path: Path) -> None:
    counts = [WordSubwords.train(TEXT, tmp_path / "subwords.model", size).boundaries(TEXT).sum() for size in (17, 60)]
    assert counts[0] > counts[1] >= TEXT.count(" ")


def test_a_text_without_words_or_with_too_many_characters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must hold some text, got none"):
        WordSubwords.train("  \n ", tmp_path / "subwords.model", 30)
    with pytest.raises(DataError, match=r"data\.subwords must hold every character of the training text, got 5"):
        WordSubwords.train(TEXT, tmp_path / "subwords.model", 5)
    (tmp_path / "subwords.model").write_bytes(b"none")
    with pytest.raises(DataError, match="must be a SentencePiece model, got"):
        WordSubwords.load(tmp_path / "subwords.model")


def test_long_lines_are_cut_for_training(tmp_path: Path) -> None:
    WordSubwords.train("ab" * 3000 + " cd\n" * 900, tmp_path / "subwords.model", 30)
