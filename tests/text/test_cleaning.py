from sumpool.text.cleaning import clean, escape_line, paragraphs, remove_invisible, sample_paragraphs

BIDIRECTIONAL = (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
ZERO_WIDTH = (*range(0x200B, 0x200E), *range(0x2060, 0x2065), *range(0x206A, 0x2070), 0xFEFF, 0x180E, 0xAD, 0x34F)
TAGS = (0xE0001, *range(0xE0020, 0xE0080))


def test_no_invisible_character_is_left_between_letters() -> None:
    for codes in [BIDIRECTIONAL, ZERO_WIDTH, TAGS]:
        assert [hex(code) for code in codes if clean(f"a{chr(code)}b") != "ab"] == []


def test_invisible_characters_are_removed() -> None:
    for text in [
        "a\u200bb",
        "a\u202eb",
        "a\ufeffb",
        "a\u00adb",
        "a\U000e0041b",
        "a\ud800b",
        "a\0b",
        "a\u2066b",
        "a\x1bb",
    ]:
        assert clean(text) == "ab"


def test_every_line_end_becomes_a_line_feed() -> None:
    for end in ["\r\n", "\r", "\f", "\v", "\x85", "\u2028"]:
        assert clean(f"a{end}b") == "a\nb"


def test_a_paragraph_separator_separates_paragraphs() -> None:
    assert paragraphs(clean("a\u2029b")) == ["a", "b"]


def test_accents_are_composed_and_do_not_count_as_invisible() -> None:
    assert remove_invisible("cafe\u0301 u\u200b\u0308ber") == ("café über", 1)


def test_ordinary_text_is_unchanged() -> None:
    text = "Grüße, «Élan» 漢字\n\tčeština ½ 😀"
    assert clean(text) == text


def test_paragraphs_are_single_lines() -> None:
    assert paragraphs("\n\n one\n two \n \t\n\n three\u00a0four\n") == ["one two", "three four"]
    assert paragraphs(" \n\n ") == []


def test_joiners_that_spelling_needs_stay() -> None:
    for text in [
        "کتابخانه‌ای تازه و ساخت‌وساز آغاز می‌شود.",
        "കണ്‍വീനര്‍ പറഞ്ഞു.",
        "क्‍ष र्‍य",
        "👨‍✈️ waved ❤️ and 🏴󠁧󠁢󠁥󠁮󠁧󠁿, 1️⃣, ❤️‍🔥.",
    ]:
        assert clean(text) == text
        assert remove_invisible(text) == (text, 0)
        assert escape_line(text) == text


def test_joiners_elsewhere_go() -> None:
    hidden = "🏴" + "".join(chr(0xE0000 + ord(letter)) for letter in "hiddenwords") + "\U000e007f"
    for text in ["a\u200cb", "a\u200d b", "می\u200c شود", "\u200cمی", "x\ufe0f", "می\u200b\u200cشود", hidden]:
        assert clean(text) == "".join(character for character in text if character.isalpha() or character in " 🏴")


def test_short_streams_are_kept_in_order() -> None:
    assert sample_paragraphs(["a\n\nb", "c"], 10, 100) == ["a", "b", "c"]


def test_long_streams_are_sampled_uniformly_and_repeatably() -> None:
    texts = [str(number) for number in range(10_000)]
    first = sample_paragraphs(iter(texts), 100, 100)
    assert first == sample_paragraphs(iter(texts), 100, 100)
    assert len(set(first)) == 100
    assert min(map(int, first)) < 1000
    assert max(map(int, first)) > 9000


def test_long_paragraphs_become_several_lines() -> None:
    words = " ".join(f"word{number}" for number in range(500))
    lines = sample_paragraphs([words, "x" * 250], 1000, 100)
    assert max(map(len, lines)) <= 100
    assert "".join(lines).replace(" ", "") == words.replace(" ", "") + "x" * 250
