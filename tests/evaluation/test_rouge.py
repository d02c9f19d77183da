import random
import string
import unicodedata
from collections.abc import Callable
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from sumpool.evaluation.rouge import TOKENIZERS, TYPES, Agreement, Rouge, RougeTokenizer, Score, UnicodeTokenizer
from sumpool.text.sentences import SentenceSplitter

THEIRS = RougeScorer(list(TYPES), use_stemmer=True)

VOCABULARY = [
    *("the", "network", "protocols", "describe", "connections", "connected", "connecting", "hosts", "addresses", "a"),
    *("addressed", "routing", "routed", "of", "RFC-791", "naïve", "can't", "x25", "Generalizations", "3.14", "y"),
]


def lines(text: str) -> list[str]:
    return text.split("\n")


punkt = SentenceSplitter().split
OURS: dict[Callable[[str], list[str]], Rouge] = {
    split: Rouge(stemmer=True, split=split, splitter="any") for split in (lines, punkt)
}


def rouge(*, stemmer: bool = True) -> Rouge:
    return Rouge(stemmer=stemmer, split=lines, splitter="lines")


def random_text(generator: random.Random) -> str:
    sentences = generator.randint(0, 5)
    return "\n".join(" ".join(generator.choices(VOCABULARY, k=generator.randint(0, 15))) for _ in range(sentences))


@pytest.mark.parametrize("stemmer", [True, False])
def test_random_pairs_score_as_with_rouge_score(stemmer: bool) -> None:
    generator = random.Random(1)
    ours = rouge(stemmer=stemmer)
    theirs = RougeScorer(list(TYPES), use_stemmer=stemmer)
    total = 0.0
    for _ in range(200):
        summary, reference = random_text(generator), random_text(generator)
        got, expected = ours.score(summary, reference), theirs.score(reference, summary)
        for name in TYPES:
            assert astuple(got[name]) == pytest.approx(tuple(expected[name]), abs=1e-9)
            total += got[name].f1
    assert total > 20  # the pairs do overlap


@given(st.text(max_size=120), st.text(max_size=120))
def test_any_pair_scores_as_with_rouge_score(summary: str, reference: str) -> None:
    assert_equal_scores(summary, reference, lines)


def assert_equal_scores(summary: str, reference: str, split: Callable[[str], list[str]]) -> float:
    """Compare all scores with those of rouge-score on one sentence per line; return ROUGE-1."""
    got = OURS[split].score(summary, reference)
    one, two = ("\n".join(" ".join(line.split()) for line in split(text)) for text in (summary, reference))
    expected = THEIRS.score(two, one)
    for name in TYPES:
        assert astuple(got[name]) == pytest.approx(tuple(expected[name]), abs=1e-9)
    return got["rouge1"].f1


def test_summary_level_rouge_needs_sentences_on_lines() -> None:
    summary, reference = "hosts route. addresses change.", "addresses change. hosts route."
    together = Rouge(stemmer=True, split=lambda text: [text], splitter="none").score(summary, reference)
    apart = Rouge(stemmer=True, split=lambda text: text.replace(". ", ".|").split("|"), splitter="dots").score(
        summary, reference
    )
    assert together["rougeLsum"] == together["rougeL"] == apart["rougeL"] == Score(0.5, 0.5, 0.5)
    assert apart["rougeLsum"] == Score(1.0, 1.0, 1.0)


def test_a_line_break_inside_a_sentence_ends_no_sentence() -> None:
    whole = Rouge(stemmer=True, split=lambda text: [text], splitter="none")
    assert whole.score("c d\na b", "a b c d") == whole.score("c d a b", "a b c d")


def test_precision_and_recall_are_not_swapped() -> None:
    assert rouge().score("hosts", "hosts route packets today")["rouge1"] == Score(1.0, 0.25, 0.4)


def test_an_empty_summary_scores_zero() -> None:
    assert set(rouge().score("", "hosts route").values()) == {Score(0.0, 0.0, 0.0)}


def test_the_signature_names_every_setting() -> None:
    assert rouge().signature.startswith("rouge-score 0.1")
    assert "stem:porter (extensions of nltk)" in rouge().signature
    assert "stem:none" in rouge(stemmer=False).signature
    for part in ("F1", "words:a-z0-9, lower case", "L:whole text", "Lsum:lines"):
        assert part in rouge().signature
    unicode = Rouge(stemmer=True, split=lines, splitter="lines", tokenizer="unicode")
    assert "words:Unicode letters and digits, NFKC" in unicode.signature


def test_text_without_words_for_rouge_is_detected() -> None:
    assert rouge().has_words("RFC 791")
    assert not rouge().has_words("文書の要約 — Сводка")


ROUGE = Rouge(stemmer=True, split=lambda text: [text], splitter="none")
WORDS = ["host", "hosts", "packet", "gateway", "send", "drop", "route", "long", "the", "a"]


def text(seed: int, least: int = 0, most: int = 14) -> str:
    chosen = random.Random(seed)
    return " ".join(chosen.choices(WORDS, k=chosen.randint(least, most)))


def plain(candidate: str, reference: str) -> float:
    scores = ROUGE.score(candidate, reference)
    return scores["rouge1"].f1 + scores["rouge2"].f1


def test_agreement_is_the_sum_of_rouge() -> None:
    for seed in range(50):
        reference, candidates = text(100 * seed), [text(seed), text(seed + 7000)]
        expected = [plain(candidate, reference) for candidate in candidates]
        assert Agreement(reference, ROUGE.tokenizer.tokenize).scores(candidates) == pytest.approx(expected)


def test_the_first_selected_sentence_has_the_highest_agreement() -> None:
    for seed in range(20):
        reference = text(100 * seed, 5, 20)
        sentences = [text(7000 + 100 * seed + number, 1, 8) for number in range(9)]
        agreement = Agreement(reference, ROUGE.tokenizer.tokenize)
        (first,) = agreement.select(sentences, 1)
        assert plain(sentences[first], reference) == pytest.approx(max(plain(one, reference) for one in sentences))
        taken = agreement.select(sentences, 9)
        assert first in taken
        assert taken == sorted(taken)


def test_sentences_without_agreement_are_not_selected() -> None:
    agreement = Agreement("Hosts send packets.", ROUGE.tokenizer.tokenize)
    assert agreement.select(["Apples fall.", "Plums rot."], 2) == []
    assert agreement.select([], 2) == []
    assert agreement.scores(["Apples fall.", ""]).tolist() == [0.0, 0.0]
    assert Agreement("", ROUGE.tokenizer.tokenize).scores(["Hosts.", ""]).tolist() == [0.0, 0.0]


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
        unicode = Rouge(stemmer=True, split=lambda text: [text], splitter="none", tokenizer="unicode")
        assert all(unicode.score(same, same)[name].f1 == 1.0 for name in TYPES)
        assert unicode.score(other, same)["rouge2"].f1 < 0.2
        assert unicode.has_words(same)
        assert ROUGE.score(same, same)["rouge1"].f1 == 0.0


def test_sentences_of_other_scripts_are_selected() -> None:
    sentences = ["苹果落在树下。", "主机发送数据报。", "网关丢弃分组。"]
    agreement = Agreement("主机向网关发送数据报。", UnicodeTokenizer(stemmer=True).tokenize)
    assert agreement.select(sentences, 1) == [1]
