import numpy as np
import pytest
from numpy.typing import NDArray

from sumpool.ranking.boosting import Boosting, fit_forest
from sumpool.ranking.ranker import LEAF, Forest

FULL = {"subsample": 1.0, "columns": 1.0, "ridge": 0.0}


def table(rows: int = 300, missing: float = 0.1) -> NDArray[np.float32]:
    generator = np.random.default_rng(0)
    values = generator.normal(size=(rows, 5)).astype(np.float32)
    values[:, 4] = np.round(values[:, 4])
    values[generator.random(values.shape) < missing] = np.nan
    return values


def naive_prediction(forest: Forest, row: NDArray[np.float32]) -> float:
    total = forest.base
    for root in forest.roots.tolist():
        node = root
        while forest.feature[node] != LEAF:
            value = row[forest.feature[node]]
            node = forest.left[node] + int(not np.isnan(value) and value > forest.threshold[node])
        total += float(forest.value[node])
    return total


def best_stump_error(rows: NDArray[np.float32], targets: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Least squared error of a tree with two leaves, by trying every threshold."""
    errors = []
    for column in np.where(np.isnan(rows), -np.inf, rows).T:
        for threshold in np.unique(column)[:-1]:
            parts = [column <= threshold, column > threshold]
            errors.append(sum(_error(targets[part], weights[part]) for part in parts))
    return min(errors)


def _error(targets: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    return float((weights * (targets - np.average(targets, weights=weights)) ** 2).sum())


def test_predictions_equal_those_of_a_walk_through_each_tree() -> None:
    rows = table()
    values = np.nan_to_num(rows).astype(np.float64)
    targets = values[:, 0] * (values[:, 1] > 0) + np.isnan(rows[:, 2])
    forest = fit_forest(rows, targets, np.ones(300), Boosting(trees=12, leaves=7, min_rows=5), seed=1)
    predictions = forest.predict(rows)
    np.testing.assert_allclose(predictions, [naive_prediction(forest, row) for row in rows], atol=1e-12)
    np.testing.assert_array_equal(forest.predict(rows[5:9]), predictions[5:9])


@pytest.mark.parametrize("seed", range(3))
def test_the_first_split_has_the_least_squared_error(seed: int) -> None:
    generator = np.random.default_rng(seed)
    rows = table(60)
    targets, weights = generator.normal(size=60) / 100, generator.uniform(0.5, 2, size=60)
    config = Boosting(trees=1, leaves=2, learning_rate=1.0, min_rows=1, **FULL)
    forest = fit_forest(rows, targets, weights, config, seed=0)
    error = float((weights * (targets - forest.predict(rows)) ** 2).sum())
    assert error == pytest.approx(best_stump_error(rows, targets, weights), rel=1e-5)


def test_leaves_have_enough_rows_and_equal_targets_need_no_split() -> None:
    rows = table(100, 0.0)
    config = Boosting(trees=1, leaves=50, learning_rate=1.0, min_rows=20, **FULL)
    forest = fit_forest(rows, rows[:, 0].astype(np.float64), np.ones(100), config, seed=0)
    assert np.unique(forest.predict(rows), return_counts=True)[1].min() >= 20
    constant = fit_forest(rows, np.full(100, 3.0), np.ones(100), config, seed=0)
    np.testing.assert_allclose(constant.predict(rows), 3.0)


def test_each_tree_learns_what_those_before_it_leave() -> None:
    rows = table(100, 0.0)
    config = Boosting(trees=10, leaves=8, learning_rate=0.5, min_rows=5, **FULL)
    forest = fit_forest(rows, rows[:, 0].astype(np.float64), np.ones(100), config, seed=0)
    assert np.mean((forest.predict(rows) - rows[:, 0]) ** 2) < 0.1


def test_sampling_depends_on_the_seed_alone() -> None:
    rows = table()
    targets = np.nan_to_num(rows[:, 0]).astype(np.float64)
    config = Boosting(trees=5, leaves=4, min_rows=5)
    first, again, other = (fit_forest(rows, targets, np.ones(300), config, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.predict(rows), again.predict(rows))
    assert not np.array_equal(first.predict(rows), other.predict(rows))
