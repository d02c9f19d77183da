import numpy as np
import pytest

from sumpool.core.decoding.ranking import LengthTarget
from sumpool.evaluation.rouge import Agreement
from sumpool.ranking.summary_length import adjust_length, usual_words
from sumpool.text.sentences import SentenceSplitter
from tests.conftest import story

SPLITTER = SentenceSplitter()


def words(amount: int) -> LengthTarget:
    return LengthTarget(amount, False, amount)


def select(sentences: list[str], target: LengthTarget, *references: str) -> list[int]:
    scores = np.mean([Agreement(reference, str.split).scores(sentences) for reference in references], axis=0)
    return adjust_length(np.argsort(-scores, kind="stable").tolist(), sentences, scores, target)


def told(number: int, sentences: int = 40) -> list[str]:
    return [sentence.strip() for sentence in SPLITTER.split(story(number, sentences))]


def test_selections_have_the_length_asked_for() -> None:
    for amount in [8, 20, 60, 100, 150]:
        target = words(amount)
        for number in range(30):
            sentences = told(number)
            selected = select(sentences, target, *told(100 + number, 6))
            assert selected == sorted(set(selected))
            assert target.minimum <= sum(len(sentences[index].split()) for index in selected) <= target.maximum


def test_sentences_that_agree_come_first() -> None:
    sentences = ["apples fall from trees", "hosts send packets away", "plums rot", "gateways drop long packets"]
    assert select(sentences, words(8), "hosts send packets", "gateways drop packets") == [1, 3]
    assert select(sentences, words(4), "gateways drop packets") == [3]


def test_the_last_sentences_are_exchanged_for_ones_that_fit() -> None:
    sentences = ["a b c d e f g", "h i j k l m n", "x y z", "u v"]
    assert select(sentences, words(10), "a b c d e f g h i j k l m n") == [0, 2]
    sentences = ["a b c d e f g", "p q r s t", "u v w x", "h i j k l m n"]
    assert select(sentences, words(9), "a b c d e f g h i j k l m n") == [1, 2]


def test_the_closest_length_is_taken_where_none_fits() -> None:
    assert select(["a b c d e f g h i j", "k l m n o p q"], words(4), "a b c") == [1]
    assert select(["a " * 30, "b " * 50, "c " * 90], words(100), "c") == [2]


def test_the_shortest_sentence_is_taken_where_each_is_too_long() -> None:
    long = " ".join(["tower"] * 50)
    assert select([f"{long} {long}", long], words(10), long) == [1]
    assert select([long], words(10), long) == [0]


def test_a_number_of_sentences_is_exact() -> None:
    for count in [1, 5, 12]:
        sentences = told(1)
        assert len(select(sentences, LengthTarget(count, True, 99), "nothing in common")) == count
        assert len(select(sentences, LengthTarget(count, True, 99), *sentences[3:5])) == count


def test_short_documents_are_whole() -> None:
    sentences = told(1, 3)
    assert select(sentences, LengthTarget(5, True, 99), "hosts") == [0, 1, 2]
    assert select(sentences, words(50), "hosts") == [0, 1, 2]
    assert select([], words(50), "hosts") == []


@pytest.mark.slow
def test_long_documents_with_sentences_that_never_fit_take_no_memory() -> None:
    sentences = ["a " * 2500] * 1000
    assert select(sentences, words(2000), "a") == [0]


def test_the_usual_length_grows_with_the_document() -> None:
    assert [usual_words(size) for size in (0, 100, 1_000, 6_000, 100_000, 1_000_000)] == [60, 60, 60, 135, 200, 200]
    lengths = [usual_words(size) for size in range(500, 100_000, 500)]
    assert lengths == sorted(lengths)
