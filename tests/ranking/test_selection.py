import numpy as np
import pytest

from sumpool.core.decoding.config import LengthTarget
from sumpool.documents.source_sentences import SourceSentence
from sumpool.evaluation.rouge import Agreement, Rouge
from sumpool.ranking.selection import adjust_length, find_candidates, select, select_expected, usual_words
from sumpool.text.language import word_count
from sumpool.text.sentences import SentenceSplitter
from tests.conftest import story

TEXTS = ("Hosts send packets today.", "Hosts send packets now.", "Gateways drop frames.", "It is fast then.")


def test_candidates_are_sentences_of_prose_that_say_something() -> None:
    kinds = ("heading", "paragraph", "code", "list_item", "notice", "paragraph")
    texts = (
        "The hosts of it",
        "Hosts send packets today.",
        "for all in it",
        "Gateways drop it all",
        "All of us",
        "Go.",
    )
    sentences = [SourceSentence(text, 0, 1, 0, kind) for kind, text in zip(kinds, texts, strict=True)]  # type: ignore[arg-type]  # literals in a tuple
    assert find_candidates(sentences) == [1, 3]
    assert find_candidates([SourceSentence("\u4e3b\u673a\u53d1\u9001\u6570\u636e\u5305\u3002", 0, 8)]) == [0]


def test_the_best_sentences_are_selected_within_the_budget() -> None:
    scores = np.array([0.4, 0.1, 0.3, 0.2])
    assert select(TEXTS, scores, 7) == [0, 2]
    assert select(TEXTS, scores, 1) == [0]
    assert select(TEXTS, scores, 100) == [0, 2, 3, 1]
    assert select([], np.zeros(0), 10) == []


def test_a_sentence_that_repeats_a_selected_one_loses_score() -> None:
    assert select(TEXTS, np.array([0.4, 0.35, 0.3, 0.0]), 8) == [0, 2]
    assert select(TEXTS, np.array([0.5, 0.45, 0.3, 0.0]), 8) == [0, 1]
    assert select(TEXTS, np.array([0.5, 0.45, 0.3, 0.0]), 8, most_overlap=0.7) == [0, 2]


def test_sentences_that_are_worth_little_fill_half_of_the_budget_only() -> None:
    scores = np.array([0.4, 0.1, 0.3, 0.2])
    assert select(TEXTS, scores, 12, minimum=0.25) == [0, 2]
    assert select(TEXTS, scores, 12, minimum=0.5) == [0, 2]
    assert select(TEXTS, scores, 8, minimum=0.5) == [0]


SPLITTER = SentenceSplitter()


def words(amount: int) -> LengthTarget:
    return LengthTarget(amount, False, amount)


def adjusted(sentences: list[str], target: LengthTarget, *references: str) -> list[int]:
    scores = np.mean([Agreement(reference, str.split).scores(sentences) for reference in references], axis=0)
    return adjust_length(np.argsort(-scores, kind="stable").tolist(), sentences, scores, target)


def told(number: int, sentences: int = 40) -> list[str]:
    return [sentence.strip() for sentence in SPLITTER.split(story(number, sentences))]


def test_selections_have_the_length_asked_for() -> None:
    for amount in [8, 20, 60, 100, 150]:
        target = words(amount)
        for number in range(30):
            sentences = told(number)
            selected = adjusted(sentences, target, *told(100 + number, 6))
            assert selected == sorted(set(selected))
            assert target.minimum <= sum(len(sentences[index].split()) for index in selected) <= target.maximum


def test_sentences_that_agree_come_first() -> None:
    sentences = ["apples fall from trees", "hosts send packets away", "plums rot", "gateways drop long packets"]
    assert adjusted(sentences, words(8), "hosts send packets", "gateways drop packets") == [1, 3]
    assert adjusted(sentences, words(4), "gateways drop packets") == [3]


def test_the_last_sentences_are_exchanged_for_ones_that_fit() -> None:
    sentences = ["a b c d e f g", "h i j k l m n", "x y z", "u v"]
    assert adjusted(sentences, words(10), "a b c d e f g h i j k l m n") == [0, 2]
    sentences = ["a b c d e f g", "p q r s t", "u v w x", "h i j k l m n"]
    assert adjusted(sentences, words(9), "a b c d e f g h i j k l m n") == [1, 2]


def test_the_closest_length_is_taken_where_none_fits() -> None:
    assert adjusted(["a b c d e f g h i j", "k l m n o p q"], words(4), "a b c") == [1]
    assert adjusted(["a " * 30, "b " * 50, "c " * 90], words(100), "c") == [2]
    long = " ".join(["tower"] * 50)
    assert adjusted([f"{long} {long}", long], words(10), long) == [1]
    assert adjusted([long], words(10), long) == [0]


def test_a_number_of_sentences_is_exact() -> None:
    for count in [1, 5, 12]:
        sentences = told(1)
        assert len(adjusted(sentences, LengthTarget(count, True, 99), "nothing in common")) == count
        assert len(adjusted(sentences, LengthTarget(count, True, 99), *sentences[3:5])) == count


def test_short_documents_are_whole() -> None:
    sentences = told(1, 3)
    assert adjusted(sentences, LengthTarget(5, True, 99), "hosts") == [0, 1, 2]
    assert adjusted(sentences, words(50), "hosts") == [0, 1, 2]
    assert adjusted([], words(50), "hosts") == []


@pytest.mark.slow
def test_long_documents_with_sentences_that_never_fit_take_no_memory() -> None:
    sentences = ["a " * 2500] * 1000
    assert adjusted(sentences, words(2000), "a") == [0]


def test_the_usual_length_grows_with_the_document() -> None:
    assert [usual_words(size) for size in (0, 100, 1_000, 6_000, 100_000, 1_000_000)] == [60, 60, 60, 100, 216, 250]
    lengths = [usual_words(size) for size in range(500, 100_000, 500)]
    assert lengths == sorted(lengths)


SENTENCES = ["hosts send packets today", "hosts send packets now", "gateways drop frames", "it is fast"]
NONE = np.zeros(4)


def expected(scores: list[float] | np.ndarray, *samples: str) -> list[int]:
    return select_expected(SENTENCES, np.asarray(scores, np.float64), samples)


def test_sentences_are_selected_that_samples_or_scores_let_expect() -> None:
    assert expected(NONE, "gateways drop frames") == [2]
    assert expected([0, 0, 0, 0.9], "plums") == [3]
    assert expected(NONE, "plums") == []
    assert select_expected([], np.zeros(0), ["plums"]) == []
    assert expected([0, 0, 0, -0.9], "plums") == []


def test_an_ngram_counts_once() -> None:
    # the second sentence differs in one word only, the third has new ones
    assert expected(NONE, "hosts send packets today and gateways drop frames") == [0, 2]
    assert expected([0.9, 0.9, 0.0, 0.0], "hosts send packets today") == [0]


def test_selection_ends_where_the_expected_f1_falls() -> None:
    sample = "hosts send packets today"
    assert expected([0.5, 0, 0.1, 0], sample) == [0]
    assert expected([0.5, 0, 0.7, 0], sample) == [0, 2]
    # the same scores, where the reference is longer
    assert expected([0.5, 0, 0.2, 0], sample) == [0]
    assert expected([0.5, 0, 0.2, 0], f"{sample} {'plum ' * 40}") == [0, 2]


def test_what_most_samples_have_comes_first() -> None:
    one, other = "hosts send packets today", "gateways drop frames"
    assert expected(NONE, one, one, one, other)[0] == 0
    assert expected(NONE, one, other, other, other)[0] == 2


def test_the_expected_f1_is_that_of_rouge_for_certain_ngrams() -> None:
    """With expectations of one, the first sentence is that with the highest ROUGE-1 + ROUGE-2."""
    generator = np.random.default_rng(0)
    rouge = Rouge()
    for _ in range(20):
        reference, *texts = (
            " ".join(f"w{number}" for number in generator.permutation(30)[:size])
            for size in (12, *generator.integers(4, 12, 8))
        )
        scores = [rouge.score(text, reference) for text in texts]
        best = max(range(8), key=lambda index: scores[index]["rouge1"].f1 + scores[index]["rouge2"].f1)
        assert select_expected(texts, np.zeros(8), [reference])[0] == best


def test_the_best_of_many_candidates_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    others = [f"plum {number} grows" for number in range(300)]
    sentences = [*others[:150], *SENTENCES, *others[150:]]
    scores = np.zeros(len(sentences))
    scores[152] = 0.9  # gateways drop frames
    assert sorted(select_expected(sentences, scores, ["hosts send packets today"])) == [150, 152]
    assert sorted(expected([0, 0, 0.9, 0.8], SENTENCES[0])) == [0, 2, 3]
    monkeypatch.setattr("sumpool.ranking.selection._MAX_CANDIDATES", 2)
    assert sorted(expected([0, 0, 0.9, 0.8], SENTENCES[0])) == [0, 2]


def test_without_samples_the_scores_and_the_length_select() -> None:
    sentences = ["a b c", "a b d", "e f g", "h i j"]
    scores = np.array([0.9, 0.85, 0.7, 0.1])
    assert select_expected(sentences, scores, length=6) == [0, 2]
    assert select_expected(sentences, scores, length=2) == [0]
    assert select_expected(["a b"], np.array([-0.1]), length=10) == []
    many = [f"w{number}" for number in range(100)]
    assert select_expected(many, np.arange(100) / 100, length=3) == [99, 98, 97, 96]


def test_expected_words_are_those_of_any_script() -> None:
    for language, sentences, sample in [
        ("ru", ["Хосты шлют пакеты", "Это быстро", "Шлюзы теряют кадры"], "хосты шлют пакеты"),
        ("zh", ["主机发送数据包。", "今天很快。", "网关丢弃帧。"], "主机发送数据包"),
        ("fr", ["L'été arrive", "Il est là", "La forêt brûle"], "l'été"),
    ]:
        assert select_expected(sentences, np.zeros(3), [sample], language=language) == [0]
        scores = np.array([0.9, 0.1, 0.8])
        words = word_count(sentences[0] + sentences[2])
        assert select_expected(sentences, scores, length=words, language=language) == [0, 2]
        assert select_expected(sentences, scores, length=words / 2, language=language) == [0]


def test_a_given_length_limits_the_selection() -> None:
    sentences = [" ".join(f"{letter}{number}" for number in range(10)) for letter in "abc"]
    scores = np.ones(3)
    assert len(select_expected(sentences, scores, length=14)) == 1
    assert len(select_expected(sentences, scores, length=15)) == 2
    assert select_expected(sentences, scores, length=1) == [0]
