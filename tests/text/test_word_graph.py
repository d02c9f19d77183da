import numpy as np

from sumpool.text.word_graph import SentenceWords, WordGraph

SENTENCES = SentenceWords.of((["a", "b", "a"], ["b", "c"], [], ["c", "d"], ["e"]))


def test_edges_are_the_distinct_words_of_sentences() -> None:
    graph = WordGraph.of(SENTENCES)
    columns = {word: column for column, word in enumerate(SENTENCES.vocabulary)}
    assert list(zip(graph.sentence, graph.word, graph.count, strict=True)) == [
        (0, columns["a"], 2),
        (0, columns["b"], 1),
        (1, columns["b"], 1),
        (1, columns["c"], 1),
        (3, columns["c"], 1),
        (3, columns["d"], 1),
        (4, columns["e"], 1),
    ]
    assert (graph.sentences, graph.words) == (5, 5)


def test_lexrank_is_the_stationary_distribution_of_the_dense_walk() -> None:
    graph = WordGraph.of(SENTENCES)
    counts = np.zeros((5, 5))
    counts[graph.sentence, graph.word] = graph.count
    vectors = counts * np.log(5 / (counts > 0).sum(axis=0))
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    similarity = vectors @ vectors.T
    walk = similarity / np.maximum(similarity.sum(axis=1), 1e-12)
    expected = np.full(5, 0.2)
    for _ in range(300):
        expected = 0.15 / 5 + 0.85 * walk @ expected
    np.testing.assert_allclose(graph.lexrank(), expected, atol=1e-4)


def test_a_part_of_the_sentences_keeps_the_numbers_of_words() -> None:
    graph = WordGraph.of(SENTENCES)
    part = graph.among(np.array([False, True, False, True, True]))
    assert part.sentence.tolist() == [0, 0, 1, 1, 2]
    assert (part.sentences, part.words) == (3, 5)
    assert WordGraph.of(SentenceWords.of([])).lexrank().tolist() == []


def test_words_of_sentences_are_stored_as_numbers() -> None:
    sentences = [["a", "b"], [], ["b", "c", "a"]]
    words = SentenceWords.of(iter(sentences))
    assert (len(words), list(words)) == (3, [("a", "b"), (), ("b", "c", "a")])
    assert words[2] == ("b", "c", "a")
    part = words.part(np.array([2, 0, 2]))
    assert list(part) == [("b", "c", "a"), ("a", "b"), ("b", "c", "a")]
    assert list(part.part(np.array([1]))) == [("a", "b")]
    assert list(SentenceWords.of([])) == []


def test_replaced_words_are_numbered_anew_and_empty_ones_left_out() -> None:
    others = SENTENCES.replaced({"a": "", "b": "B", "c": "B", "d": "d", "e": ""}.__getitem__)
    assert list(others) == [("B",), ("B", "B"), (), ("B", "d"), ()]
    assert list(others.vocabulary) == ["B", "d"]
