import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sumpool.evaluation.agreement import RougeTokenizer, UnicodeTokenizer, WordTokenizer
from sumpool.evaluation.html_report import MarkedSegment, mark_shared

ROUGE = RougeTokenizer(stemmer=True)
UNICODE = UnicodeTokenizer(stemmer=True)


def test_sequences_and_single_words_are_marked() -> None:
    assert mark_shared(
        "The host sends Datagrams, slowly; a gateway (too).", "Host send datagrams to a big gateway", ROUGE
    ) == [
        MarkedSegment("The ", 0),
        MarkedSegment("host sends Datagrams", 2),
        MarkedSegment(", slowly; ", 0),
        MarkedSegment("a", 1),
        MarkedSegment(" ", 0),
        MarkedSegment("gateway", 1),
        MarkedSegment(" (too).", 0),
    ]


def test_nothing_is_marked_without_common_words() -> None:
    assert mark_shared("Apples fall.", "Hosts send.", ROUGE) == [MarkedSegment("Apples fall.", 0)]
    assert mark_shared("", "Hosts send.", ROUGE) == []
    assert mark_shared("...", "", ROUGE) == [MarkedSegment("...", 0)]


def test_characters_are_words_of_other_scripts() -> None:
    assert mark_shared("主机发送数据报", "发送分组", UNICODE) == [
        MarkedSegment("主机", 0),
        MarkedSegment("发送", 2),
        MarkedSegment("数据报", 0),
    ]


@given(st.text(max_size=80), st.text(max_size=80), st.sampled_from([ROUGE, UNICODE]))
def test_the_segments_are_the_text(text: str, other: str, tokenizer: WordTokenizer) -> None:
    segments = mark_shared(text, other, tokenizer)
    assert "".join(segment.text for segment in segments) == text
    assert all(segment.text for segment in segments)


def test_the_marked_words_are_those_of_common_bigrams() -> None:
    for seed in range(30):
        generator = random.Random(seed)
        text, other = ([*generator.choices("abcdefgh", k=20)] for _ in range(2))
        pairs = set(pairwise(other))
        expected = []
        for index, word in enumerate(text):
            before, after = (text[index - 1], word), tuple(text[index : index + 2])
            in_pair = (index > 0 and before in pairs) or after in pairs
            expected.append(2 if in_pair else int(word in other))
        levels = [
            segment.shared
            for segment in mark_shared(" ".join(text), " ".join(other), ROUGE)
            for word in segment.text.split()
        ]
        assert levels == expected
