import random
import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sumpool.evaluation.agreement import TOKENIZERS, Agreement, RougeTokenizer, UnicodeTokenizer
from sumpool.evaluation.rouge import TYPES, Rouge

ROUGE = Rouge(stemmer=True, split=lambda text: [text], splitter="none")
WORDS = ["host", "hosts", "packet", "gateway", "send", "drop", "route", "long", "the", "a"]


def text(seed: int, least: int = 0, most: int = 14) -> str:
    chosen = random.Random(seed)
    return " ".join(chosen.choices(WORDS, k=chosen.randint(least, most)))


def plain(candidate: str, texts: list[str]) -> float:
    scores = [ROUGE.score(candidate, reference) for reference in texts]
    return sum(score["rouge1"].f1 + score["rouge2"].f1 for score in scores) / len(scores)


def test_agreement_is_the_mean_of_rouge() -> None:
    for seed in range(20):
        texts = [text(100 * seed + number) for number in range(1 + seed % 4)]
        candidate = text(seed)
        assert Agreement(texts, ROUGE.tokenizer.tokenize).score(candidate) == pytest.approx(plain(candidate, texts))


def test_the_first_selected_sentence_has_the_highest_agreement() -> None:
    for seed in range(20):
        texts = [text(100 * seed + number, 5, 20) for number in range(3)]
        sentences = [text(7000 + 100 * seed + number, 1, 8) for number in range(9)]
        agreement = Agreement(texts, ROUGE.tokenizer.tokenize)
        (first,) = agreement.select(sentences, 1)
        assert plain(sentences[first], texts) == pytest.approx(max(plain(sentence, texts) for sentence in sentences))
        taken = agreement.select(sentences, 9)
        assert first in taken
        assert taken == sorted(taken)


def test_sentences_without_agreement_are_not_selected() -> None:
    agreement = Agreement(["Hosts send packets.", "Gateways drop them."], ROUGE.tokenizer.tokenize)
    assert agreement.select(["Apples fall.", "Plums rot."], 2) == []
    assert agreement.select([], 2) == []
    assert agreement.score("Apples fall.") == agreement.score("") == 0


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
    agreement = Agreement(["主机向网关发送数据报。"], UnicodeTokenizer(stemmer=True).tokenize)
    assert agreement.select(sentences, 1) == [1]
