"""Agreement with several texts, against rouge-score and a plain search."""

import random

import pytest

from sumpool.evaluation.rouge import Rouge
from sumpool.evaluation.rouge_agreement import Agreement

ROUGE = Rouge(stemmer=True, split=lambda text: [text], splitter="none")
WORDS = ["host", "hosts", "packet", "gateway", "send", "drop", "route", "long", "the", "a"]


def text(seed: int, least: int = 0, most: int = 14) -> str:
    chosen = random.Random(seed)
    return " ".join(chosen.choices(WORDS, k=chosen.randint(least, most)))


def plain(candidate: str, texts: list[str]) -> float:
    scores = [ROUGE.score(candidate, reference) for reference in texts]
    return sum(score["rouge1"].f1 + score["rouge2"].f1 for score in scores) / len(scores)


@pytest.mark.parametrize("seed", range(20))
def test_agreement_is_the_mean_of_rouge(seed: int) -> None:
    texts = [text(100 * seed + number) for number in range(1 + seed % 4)]
    candidate = text(seed)
    assert Agreement(texts, ROUGE.tokenizer.tokenize).score(candidate) == pytest.approx(plain(candidate, texts))


@pytest.mark.parametrize("seed", range(20))
def test_the_first_selected_sentence_has_the_highest_agreement(seed: int) -> None:
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
