import numpy as np

from sumpool.evaluation.rouge import Rouge, RougeTokenizer
from sumpool.ranking.selection import select_expected, select_texts
from sumpool.text.sentences import SentenceSplitter

SENTENCES = [
    text.split()
    for text in ("hosts send packets today", "hosts send packets now", "gateways drop frames", "it is fast")
]
NONE = np.zeros(4)


def select(scores: list[float] | np.ndarray, *samples: str) -> list[int]:
    words = [sample.split() for sample in samples]
    return select_expected(SENTENCES, np.asarray(scores, np.float64), words)


def test_sentences_are_selected_that_samples_or_scores_let_expect() -> None:
    assert select(NONE, "gateways drop frames") == [2]
    assert select([0, 0, 0, 0.9], "plums") == [3]
    assert select(NONE, "plums") == []
    assert select_expected([], np.zeros(0), [["plums"]]) == []
    assert select([0, 0, 0, -0.9], "plums") == []


def test_an_ngram_counts_once() -> None:
    # the second sentence differs in one word only, the third has new ones
    assert select(NONE, "hosts send packets today and gateways drop frames") == [0, 2]
    assert select([0.9, 0.9, 0.0, 0.0], "hosts send packets today") == [0]


def test_selection_ends_where_the_expected_f1_falls() -> None:
    sample = "hosts send packets today"
    assert select([0.5, 0, 0.1, 0], sample) == [0]
    assert select([0.5, 0, 0.7, 0], sample) == [0, 2]
    # the same scores, where the reference is longer
    assert select([0.5, 0, 0.2, 0], sample) == [0]
    assert select([0.5, 0, 0.2, 0], f"{sample} {'plum ' * 40}") == [0, 2]


def test_what_most_samples_have_comes_first() -> None:
    one, other = "hosts send packets today", "gateways drop frames"
    assert select(NONE, one, one, one, other)[0] == 0
    assert select(NONE, one, other, other, other)[0] == 2


def test_the_expected_f1_is_that_of_rouge_for_certain_ngrams() -> None:
    """With expectations of one, the first sentence is that with the highest ROUGE-1 + ROUGE-2."""
    generator = np.random.default_rng(0)
    rouge = Rouge(stemmer=False, split=SentenceSplitter().split, splitter="the shipped one")
    for _ in range(20):
        reference = [f"w{number}" for number in generator.permutation(30)[:12]]
        texts = [[f"w{number}" for number in generator.permutation(30)[: generator.integers(4, 12)]] for _ in range(8)]
        scores = [rouge.score(" ".join(text), " ".join(reference)) for text in texts]
        best = max(range(8), key=lambda index: scores[index]["rouge1"].f1 + scores[index]["rouge2"].f1)
        assert select_expected(texts, np.zeros(8), [reference])[0] == best


def test_the_best_of_many_candidates_are_compared() -> None:
    others = [f"plum {number} grows".split() for number in range(300)]
    sentences = [*others[:150], *SENTENCES, *others[150:]]
    scores = np.zeros(len(sentences))
    scores[152] = 0.9  # gateways drop frames
    assert sorted(select_expected(sentences, scores, [["hosts", "send", "packets", "today"]])) == [150, 152]


def test_without_samples_the_scores_and_the_length_select() -> None:
    sentences = [["a", "b", "c"], ["a", "b", "d"], ["e", "f", "g"], ["h", "i", "j"]]
    scores = np.array([0.9, 0.85, 0.7, 0.1])
    assert select_expected(sentences, scores, length=6) == [0, 2]
    assert select_expected(sentences, scores, length=2) == [0]
    many = [[f"w{number}"] for number in range(100)]
    assert select_expected(many, np.arange(100) / 100, length=3) == [99, 98, 97, 96]


def test_a_given_length_limits_the_selection() -> None:
    sentences = [[f"{letter}{number}" for number in range(10)] for letter in "abc"]
    scores = np.ones(3)
    assert len(select_expected(sentences, scores, length=14)) == 1
    assert len(select_expected(sentences, scores, length=15)) == 2
    assert select_expected(sentences, scores, length=1) == [0]


def test_no_score_expects_nothing() -> None:
    assert select_expected([["a", "b"]], np.array([-0.1]), length=10) == []


def test_texts_are_compared_by_the_words_of_rouge() -> None:
    for samples in [[], ["Hosts send 7 packets."]]:
        rng = np.random.default_rng(2)
        texts = [f"Hosts send {rng.integers(9)} packets to gateway {number % 30}." for number in range(90)]
        scores = rng.random(90)
        words = [RougeTokenizer(stemmer=True).tokenize(text) for text in texts]
        sampled = [RougeTokenizer(stemmer=True).tokenize(sample) for sample in samples]
        expected = select_expected(words, scores, sampled, length=30)
        assert select_texts(texts, scores, samples, length=30) == expected
        assert len(expected) > 1
