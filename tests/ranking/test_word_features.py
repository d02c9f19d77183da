import numpy as np

from sumpool.ranking.word_features import content_prefixes, ranks, split_words, style_features


def test_words_are_lower_case_and_pairs_of_characters_without_spaces() -> None:
    assert split_words("Hosts' 2 packets_sent") == ["hosts", "2", "packets", "sent"]
    assert split_words("主机发送packets", "zh") == ["主机", "机发", "发送", "送p", "pa", "ac", "ck", "ke", "et", "ts"]
    assert split_words("packets", "zh") == ["packets"]


def test_content_words_are_their_first_letters() -> None:
    assert content_prefixes(["the", "gateways", "gateway", "a", "x"]) == ["gatewa", "gatewa"]
    assert content_prefixes(["the"], "xx") == ["the"]


def test_ranks_are_shares_of_smaller_values() -> None:
    assert ranks(np.array([3.0, 1.0, 2.0])).tolist() == [1, 0, 0.5]
    assert ranks(np.array([3.0])).tolist() == [0]


def test_style_is_measured_per_character_and_word() -> None:
    style = style_features(["A (B) 1, 2.", "x"], [["a", "b", "1", "2"], ["x"]])
    assert style["digits"].tolist() == [2 / 11, 0]
    assert style["capitals"].tolist() == [0.5, 0]
    assert style["mean_words"].tolist() == [2.5, 2.5]
