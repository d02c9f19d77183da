import math
import random
from collections import Counter

import numpy as np
import pytest

from sumpool.evaluation import scorer
from sumpool.evaluation.rouge import RougeTokenizer, UnicodeTokenizer
from sumpool.evaluation.scorer import oracle, random_ranks, take_sentences, textrank

TOKENIZER = RougeTokenizer(stemmer=True)
tokenize = TOKENIZER.tokenize


def lexrank(sentences: list[str], words: int) -> str:
    ranks = scorer.lexrank([tokenize(sentence) for sentence in sentences])
    return take_sentences(sentences, ranks, words, TOKENIZER)


def test_lexrank_of_equally_central_sentences_is_the_lead() -> None:
    assert lexrank([], 60) == ""
    assert lexrank(["...", "!"], 60) == "... !"
    assert lexrank(["Same.", "Same."], 60) == "Same. Same."


def naive_textrank(sentences: list[list[str]]) -> list[float]:
    """TextRank by a dense matrix of similarities and the solution of its linear equations."""
    count = len(sentences)
    similarity = np.zeros((count, count))
    for i, first in enumerate(sentences):
        for j, second in enumerate(sentences):
            if i != j and len(first) * len(second) > 1:
                similarity[i, j] = len(set(first) & set(second)) / (math.log(len(first)) + math.log(len(second)))
    degree = similarity.sum(1)
    walk = np.divide(similarity, degree[:, None], out=np.zeros_like(similarity), where=degree[:, None] > 0)
    ranks: list[float] = np.linalg.solve(np.eye(count) - 0.85 * walk.T, np.full(count, 0.15)).tolist()
    return ranks


def test_textrank_equals_a_dense_solution() -> None:
    for seed in range(20):
        generator = random.Random(seed)
        words = "abcdefghijklmnopqrstuvwxyz"[: 3 + seed]
        sentences = [generator.choices(words, k=generator.randint(0, 12)) for _ in range(generator.randint(1, 40))]
        assert textrank(sentences) == pytest.approx(naive_textrank(sentences), abs=1e-7)


def test_textrank_of_sentences_without_common_words() -> None:
    assert textrank([]).tolist() == []
    assert textrank([["a"], ["a"], ["b", "c"], []]) == pytest.approx([0.15] * 4)  # log 1 + log 1 = 0: no edge
    assert textrank([["a", "b"], ["a", "c"]]) == pytest.approx([1.0, 1.0])


def test_random_sentences_depend_on_the_id() -> None:
    assert sorted(random_ranks("rfc1", 9)) == list(range(9))
    assert random_ranks("rfc1", 9).tolist() == random_ranks("rfc1", 9).tolist() != random_ranks("rfc2", 9).tolist()
    firsts = {int(random_ranks(f"rfc{number}", 9).argmax()) for number in range(200)}
    assert firsts == set(range(9))


def test_sentences_are_taken_by_rank_in_document_order() -> None:
    sentences = ["a b c.", "d e f.", "g h i."]
    assert take_sentences(sentences, np.array([1.0, 0.0, 2.0]), 6, TOKENIZER) == "a b c. g h i."
    assert take_sentences(sentences, np.array([1.0, 0.0, 2.0]), 5, TOKENIZER) == "a b c. g h"
    chinese = ["主机发送。", "网关丢弃。"]
    assert take_sentences(chinese, np.array([0.0, 1.0]), 4, UnicodeTokenizer(stemmer=False)) == "网关丢弃。"


def test_the_oracle_stops_when_no_sentence_raises_the_agreement() -> None:
    assert oracle(["Hosts send.", "Apples fall."], "Hosts send.", 2, tokenize) == "Hosts send."
    assert oracle(["Apples fall.", ""], "Hosts send.", 2, tokenize) == ""
    assert oracle([], "Hosts send.", 2, tokenize) == ""
    assert oracle(["Hosts send."], "", 2, tokenize) == ""


def agreement(chosen: list[str], reference: str) -> float:
    """ROUGE-1 F1 + ROUGE-2 F1, counted anew; no pair of words crosses two sentences."""
    total = 0.0
    for size in (1, 2):
        have, wanted = (
            Counter(
                tuple(words[start : start + size])
                for words in map(tokenize, texts)
                for start in range(len(words) - size + 1)
            )
            for texts in (chosen, [reference])
        )
        total += 2 * (have & wanted).total() / max(have.total() + wanted.total(), 1)
    return total


def test_the_oracle_equals_an_exhaustive_greedy_search() -> None:
    generator = random.Random(4)
    words = [f"w{number}" for number in range(30)]
    for _ in range(50):
        sentences = [" ".join(generator.choices(words, k=generator.randint(1, 9))) + "\n" for _ in range(12)]
        reference = " ".join(generator.choices(words, k=25))
        chosen: list[int] = []
        for _ in range(3):
            rest = [place for place in range(12) if place not in chosen]
            value, place = max(
                (agreement([sentences[index] for index in [*chosen, place]], reference), -place) for place in rest
            )
            if value <= agreement([sentences[index] for index in chosen], reference):
                break
            chosen.append(-place)
        expected = "".join(sentences[place] for place in sorted(chosen)).strip()
        assert oracle(sentences, reference, 3, tokenize) == expected
