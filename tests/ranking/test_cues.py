import numpy as np
import pytest

from sumpool.ranking.fit import fit_cues, frequent_cues
from sumpool.ranking.ranker import cue_scores, sentence_cues


def test_cues_are_words_pairs_and_openings() -> None:
    assert sentence_cues(["this", "paper", "is", "this"]) == {
        *("this", "paper", "is", "this paper", "paper is", "is this", "^this", "^this paper", "^this paper is")
    }
    assert sentence_cues([]) == set()


def test_the_score_is_the_sum_of_weights_over_the_root_of_their_number() -> None:
    weights = {"^we": 2.0, "we": 1.0, "see": -1.0}
    scores = cue_scores(weights, [["we", "show"], ["see", "there"], ["none"], []])
    assert scores.tolist() == pytest.approx([3 / 2**0.5, -1, 0, 0])


def test_cues_are_frequent_in_two_kinds() -> None:
    documents = [[["we", "send"]], [["we", "drop"]], [["we", "paint"]], [["we", "paint"]]]
    kinds = ["net", "net", "art", "art"]
    assert frequent_cues(documents, kinds, minimum=2, maximum=9) == ["^we", "we"]
    assert frequent_cues(documents, kinds, minimum=2, maximum=1) == ["^we"]
    assert "paint" in frequent_cues(documents, ["all"] * 4, minimum=2, maximum=9)


def test_weights_solve_the_ridge_regression() -> None:
    generator = np.random.default_rng(0)
    sentences = [generator.choice(["a", "b", "c", "d"], size=5).tolist() for _ in range(60)]
    targets, weights = generator.normal(size=60), generator.uniform(0.5, 2, size=60)
    cues = ["^a", "a", "a b", "b", "c"]
    known = [[cue for cue in cues if cue in sentence_cues(words)] for words in sentences]
    matrix = np.array([[(cue in row) / max(len(row), 1) ** 0.5 for cue in cues] for row in known])
    centred = targets - np.average(targets, weights=weights)
    expected = np.linalg.solve(matrix.T @ (weights[:, None] * matrix) + 0.7 * np.eye(5), matrix.T @ (weights * centred))
    fitted = fit_cues(cues, sentences, targets, weights, 0.7)
    np.testing.assert_allclose([fitted[cue] for cue in cues], expected, atol=1e-4)
    np.testing.assert_allclose(cue_scores(fitted, sentences), matrix @ expected, atol=1e-3)
