import math
import random
import time
from collections import Counter

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer

from sumpool.evaluation.baselines import lexrank, oracle
from sumpool.evaluation.rouge import RougeTokenizer

tokenize = RougeTokenizer(stemmer=True).tokenize


def most_central(sentences: list[str], count: int) -> list[int]:
    """LexRank with a matrix of cosines and the eigenvector of its walk."""
    counts = [Counter(tokenize(sentence)) for sentence in sentences]
    vocabulary = sorted(set().union(*counts))
    inverse = {word: math.log(len(counts) / sum(word in sentence for sentence in counts)) for word in vocabulary}
    vectors = np.array([[sentence[word] * inverse[word] for word in vocabulary] for sentence in counts])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    walk = 0.85 * cosines / cosines.sum(1, keepdims=True) + 0.15 / len(counts)
    values, columns = np.linalg.eig(walk.T)
    visits = np.abs(columns[:, values.real.argmax()].real)
    return sorted(np.argsort(-visits)[:count].tolist())


@pytest.mark.parametrize("seed", range(5))
def test_lexrank_selects_the_eigenvector_centrality_of_the_cosine_matrix(seed: int) -> None:
    random.seed(seed)
    sentences = [" ".join(random.choices("abcdefghijklmnopqrst", k=10)) for _ in range(30)]
    expected = [sentences[place] for place in most_central(sentences, 4)]
    assert lexrank(sentences, 40, tokenize) == " ".join(expected)


def test_lexrank_truncates_to_the_number_of_words() -> None:
    sentences = ["Hosts send packets to hosts.", "Apples fall.", "Hosts send to routers.", "Routers send packets."]
    assert len(lexrank(sentences, 7, tokenize).split()) == 7
    assert "Apples" not in lexrank(sentences, 7, tokenize)
    assert lexrank(sentences, 60, tokenize) == " ".join(sentences)


@pytest.mark.parametrize(
    ("sentences", "expected"), [([], ""), (["...", "!"], "... !"), (["Same.", "Same."], "Same. Same.")]
)
def test_lexrank_of_equally_central_sentences_is_the_lead(sentences: list[str], expected: str) -> None:
    assert lexrank(sentences, 60, tokenize) == expected


def test_the_oracle_keeps_the_order_of_the_document() -> None:
    sentences = ["Routers drop packets.", "Nothing here.", "Hosts send datagrams to a gateway."]
    reference = "Hosts send datagrams to a gateway. Routers drop packets."
    assert oracle(sentences, reference, 3, tokenize) == "Routers drop packets. Hosts send datagrams to a gateway."


def test_the_oracle_stops_when_no_sentence_raises_the_agreement() -> None:
    assert oracle(["Hosts send.", "Apples fall."], "Hosts send.", 2, tokenize) == "Hosts send."
    assert oracle(["Apples fall.", ""], "Hosts send.", 2, tokenize) == ""
    assert oracle([], "Hosts send.", 2, tokenize) == ""
    assert oracle(["Hosts send."], "", 2, tokenize) == ""


def test_repeating_a_sentence_of_the_reference_gains_nothing() -> None:
    assert oracle(["Hosts send.", "Hosts send.", "Hosts receive."], "Hosts send. Hosts receive.", 2, tokenize) == (
        "Hosts send. Hosts receive."
    )


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


def test_one_sentence_has_the_rouge_that_the_oracle_maximises() -> None:
    sentence, reference = "Hosts send large datagrams.", "Hosts send datagrams to hosts."
    scores = RougeScorer(["rouge1", "rouge2"], use_stemmer=True).score(reference, sentence)
    assert agreement([sentence], reference) == pytest.approx(sum(score.fmeasure for score in scores.values()))


def test_a_document_of_ten_thousand_words_takes_milliseconds() -> None:
    generator = random.Random(5)
    words = [f"term{number}" for number in range(2000)]
    sentences = [" ".join(generator.choices(words, k=25)) for _ in range(400)]
    reference = " ".join(generator.choices(words, k=120))
    oracle(sentences, reference, 3, tokenize)  # caches the stems
    start = time.process_time()
    oracle(sentences, reference, 3, tokenize)
    assert time.process_time() - start < 0.15  # about 20 ms
