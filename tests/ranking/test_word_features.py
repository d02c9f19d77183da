import numpy as np

from sumpool.ranking.word_features import ranks, style_features


def test_ranks_are_shares_of_smaller_values() -> None:
    assert ranks(np.array([3.0, 1.0, 2.0])).tolist() == [1, 0, 0.5]
    assert ranks(np.array([3.0])).tolist() == [0]


def test_style_is_measured_per_character_and_word() -> None:
    style = style_features(["A (B) 1, 2.", "x"], [["a", "b", "1", "2"], ["x"]])
    assert style["digits"].tolist() == [2 / 11, 0]
    assert style["capitals"].tolist() == [0.5, 0]
    assert style["mean_words"].tolist() == [2.5, 2.5]
