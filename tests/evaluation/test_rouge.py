import random
import re
import string
import unicodedata
from dataclasses import astuple
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from rouge_score.rouge_scorer import RougeScorer

from sumpool.evaluation.rouge import (
    STEP_2,
    STEP_3,
    STEP_4,
    TOKENIZERS,
    TYPES,
    Agreement,
    Rouge,
    RougeTokenizer,
    UnicodeTokenizer,
    stem,
)
from sumpool.text.sentences import SentenceSplitter

VOCABULARY = [
    *("the", "network", "protocols", "describe", "connections", "connected", "connecting", "hosts", "addresses", "a"),
    *("addressed", "routing", "routed", "of", "RFC-791", "naïve", "can't", "x25", "Generalizations", "3.14", "\n"),
]
TEXT = st.text(max_size=120) | st.lists(st.sampled_from(VOCABULARY), max_size=40).map(" ".join)
THEIRS = {stemmer: RougeScorer(list(TYPES), use_stemmer=stemmer) for stemmer in (True, False)}


OURS = {stemmer: Rouge(stemmer=stemmer) for stemmer in (True, False)}
ROUGE = OURS[True]


@pytest.mark.parametrize("stemmer", [True, False])
@given(TEXT, TEXT)
def test_any_pair_scores_as_with_rouge_score(stemmer: bool, summary: str, reference: str) -> None:
    got = OURS[stemmer].score(summary, reference)
    one, two = ("\n".join(map(str.strip, SentenceSplitter().split(text))) for text in (summary, reference))
    expected = THEIRS[stemmer].score(two, one)
    for name in TYPES:
        assert astuple(got[name]) == pytest.approx(tuple(expected[name]), abs=1e-9)


def test_the_signature_names_every_setting() -> None:
    assert ROUGE.signature.startswith("rouge-score 0.1")
    for part in ("F1", "words:a-z0-9, lower case", "stem:porter (extensions of nltk)", "L:whole text", "Lsum:sumpool"):
        assert part in ROUGE.signature
    assert "stem:none" in OURS[False].signature
    assert "words:Unicode letters and digits, NFKC" in Rouge(tokenizer="unicode").signature


WORDS = ["host", "hosts", "packet", "gateway", "send", "drop", "route", "long", "the", "a"]


def text(seed: int) -> str:
    chosen = random.Random(seed)
    return " ".join(chosen.choices(WORDS, k=chosen.randint(0, 14)))


def test_agreement_is_the_sum_of_rouge() -> None:
    for seed in range(50):
        reference, candidates = text(100 * seed), [text(seed), text(seed + 7000)]
        scores = [ROUGE.score(candidate, reference) for candidate in candidates]
        expected = [each["rouge1"].f1 + each["rouge2"].f1 for each in scores]
        assert Agreement(reference, ROUGE.tokenizer.tokenize).scores(candidates) == pytest.approx(expected)


@pytest.mark.parametrize("stemmer", [True, False])
@given(st.text(string.printable, max_size=200))
def test_unicode_words_of_ascii_text_are_those_of_rouge_score(stemmer: bool, ascii_text: str) -> None:
    assert UnicodeTokenizer(stemmer).tokenize(ascii_text) == RougeTokenizer(stemmer).tokenize(ascii_text)


def test_unicode_words() -> None:
    for text, words in (
        ("Der Große_Fluß", ["der", "grosse", "fluss"]),
        ("Сводка документа", ["сводка", "документа"]),
        ("文書の要約。RFC 791", ["文", "書", "の", "要", "約", "rfc", "791"]),
        ("\uff32\uff26\uff23\uff17\uff19\uff11", ["rfc791"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("ภาษาไทย", ["ภ", "า", "ษ", "า", "ไ", "ท", "ย"]),
        ("한국어 문서", ["한국어", "문서"]),
        ("résumé re\u0301sume\u0301", ["résumé", "résumé"]),
        ("— … 。", []),
    ):
        assert UnicodeTokenizer(stemmer=False).tokenize(text) == [unicodedata.normalize("NFKC", word) for word in words]


def test_only_english_words_are_stemmed() -> None:
    assert UnicodeTokenizer(stemmer=True).tokenize("connections büros соединения") == ["connect", "büros", "соединения"]


@given(st.text(max_size=100), st.integers(1, 30))
def test_the_first_words_have_the_number_of_words(any_text: str, count: int) -> None:
    for tokenizer in (TOKENIZERS["rouge"](stemmer=False), TOKENIZERS["unicode"](stemmer=False)):
        first = tokenizer.first_words(any_text, count)
        assert tokenizer.count_words(first) == min(count, tokenizer.count_words(any_text))
        assert first in any_text


def test_characters_count_as_words_where_there_are_no_spaces() -> None:
    tokenizer = UnicodeTokenizer(stemmer=False)
    assert tokenizer.count_words("本文書は要約。") == 6
    assert tokenizer.first_words("本文書は「要約」である。", 5) == "本文書は「要"
    assert tokenizer.first_words(" two words, here.", 2) == "two words,"


def test_other_scripts_score_with_the_unicode_tokenizer() -> None:
    for same, other in (
        ("本协议规定了主机之间的数据报格式。", "苹果落在树下。"),
        ("Протокол описывает формат датаграмм.", "Яблоки падают."),
        ("यह प्रोटोकॉल डेटाग्राम का वर्णन करता है।", "सेब गिरते हैं।"),
    ):
        unicode = Rouge(tokenizer="unicode")
        assert all(unicode.score(same, same)[name].f1 == 1.0 for name in TYPES)
        assert unicode.score(other, same)["rouge2"].f1 < 0.2
        assert unicode.has_words(same)
        assert ROUGE.score(same, same)["rouge1"].f1 == 0.0


IRREGULAR = """sky skies dying lying news innings howe proceed dies died flies spied enjoy geologi theology radically
    a as is oed logical electrically feed agreed"""
SUFFIXES = ["ed", "eed", "ied", "ies", "ing", "ll", "s", "tted", "y"]
SUFFIXES += [suffix for suffix, _ in (*STEP_2, *STEP_3, *STEP_4)]


def test_stems_of_random_irregular_and_english_words_equal_those_of_nltk() -> None:
    draws, nltk = random.Random(0), PorterStemmer().stem
    words = {"", "y" * 50, *IRREGULAR.split()}
    for _ in range(10_000):
        word = "".join(draws.choices("aeiouybcglst", k=draws.randint(0, 6)))
        words.add(word + "".join(draws.choices(SUFFIXES, k=draws.randint(0, 3))))
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    words.update(re.findall("[a-z0-9]+", text.lower()))
    for word in words:
        assert stem(word) == nltk(word), word
