import time

import pytest

from sumpool.text.form import sentence_faults
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


@pytest.mark.parametrize("word", ["नमस्ते", "தமிழ்", "മലയാളം", "می\u200cروم", "क्\u200dष", "e\u0301te\u0301", "שָׁלוֹם"])
def test_marks_and_joiners_belong_to_their_word(word: str) -> None:
    assert split_words(f"{word}_{word}, ({word})") == [word] * 3
    assert split_words(f"{word[-1]} \u200c") in ([], [word[-1]])


def test_pairs_hold_marks_in_scripts_without_spaces() -> None:
    assert split_words("ที่นี่", "th") == ["ที", "ี่", "่น", "นี", "ี่"]
    assert split_words("မြို့", "my") == ["မြ", "ြိ", "ို", "ု့"]


def test_sentences_with_marks_are_no_headings() -> None:
    assert sentence_faults("बैठक में परिषद ने नया पुस्तकालय बनाने का निर्णय लिया।", "hi") == ()


@pytest.mark.parametrize("length", [40_000, 400_000])
def test_time_is_linear(length: int) -> None:
    for part in ("a\u0301", "\u093e", "_", "a_", "क्\u200dष", "\u200c "):
        start = time.process_time()
        split_words(part * (length // len(part)))
        assert time.process_time() - start < max(0.5, 4e-6 * length), part
