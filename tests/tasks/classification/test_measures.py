import json

import numpy as np
import pytest

from sumpool.tasks.classification.measures import macro_f1, score_labels, scores_of, wilson


def test_scores_of_a_small_table() -> None:
    precision, recall, f1 = scores_of(np.array([[2, 1, 0], [1, 2, 1], [0, 0, 1]]))
    np.testing.assert_allclose(precision, [2 / 3, 2 / 3, 1 / 2])
    np.testing.assert_allclose(recall, [2 / 3, 1 / 2, 1])
    np.testing.assert_allclose(f1, [2 / 3, 4 / 7, 2 / 3])
    assert macro_f1(np.array([[2, 0, 0], [0, 0, 0], [0, 0, 2]])) == 1.0  # a class that never occurs does not count


def test_a_report_has_accuracy_classes_and_confusion() -> None:
    labels, predicted = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 0, 2])
    log_probs = np.log(np.where(np.arange(4) == predicted[:, None], 0.7, 0.1))
    scores, again = (
        score_labels(("run", "test"), ["a", "b", "c", "d"], labels, log_probs, 200, truncated=2) for _ in range(2)
    )
    assert scores.documents == 6
    assert scores.accuracy.mean == pytest.approx(4 / 6)
    assert scores.majority == pytest.approx(0.5)
    assert scores.nats == pytest.approx(-(4 * np.log(0.7) + 2 * np.log(0.1)) / 6)
    assert scores.confusion == ((2, 1, 0, 0), (1, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 0))
    assert [(of.label, of.documents) for of in scores.classes] == [("a", 3), ("b", 2), ("c", 1), ("d", 0)]
    assert scores.macro_f1.low <= scores.macro_f1.mean <= scores.macro_f1.high
    assert scores == again  # the bootstrap is seeded
    assert json.loads(scores.to_json())["confusion"][0] == [2, 1, 0, 0]
    assert scores.score_rows()[0] == ["accuracy", "66.67", "30.00 to 90.32"]
    assert scores.score_rows()[-1] == ["documents", "6", "2 truncated"]


def test_wilson_equals_published_intervals() -> None:
    for successes, trials, low, high in (
        (0, 10, 0.0, 0.27753),
        (10, 10, 0.72247, 1.0),
        (50, 100, 0.40383, 0.59617),
        (1, 2, 0.09453, 0.90547),
    ):
        estimate = wilson(successes, trials)
        assert [estimate.low, estimate.high] == pytest.approx([low, high], abs=1e-5)
        assert 0 <= estimate.low <= estimate.mean <= estimate.high <= 1
