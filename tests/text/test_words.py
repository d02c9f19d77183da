from sumpool.text.words import content_prefixes, split_words, word_prefixes


def test_words_are_lower_case_and_pairs_of_characters_without_spaces() -> None:
    assert split_words("Hosts' 2 packets_sent") == ["hosts", "2", "packets", "sent"]
    assert split_words("The RFC-Editor's Übung, 2x!") == ["the", "rfc", "editor", "s", "übung", "2x"]
    assert split_words("主机发送packets", "zh") == ["主机", "机发", "发送", "送p", "pa", "ac", "ck", "ke", "et", "ts"]
    assert split_words("packets", "zh") == ["packets"]


def test_words_with_the_same_first_letters_are_the_same() -> None:
    assert word_prefixes(["gateways", "gateway", "a"]) == ["gatewa", "gatewa", "a"]
    assert content_prefixes(["the", "gateways", "gateway", "a", "x"]) == ["gatewa", "gatewa"]
    assert content_prefixes(["the"], "xx") == ["the"]
