from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sumpool.ranking.boosting import fit_forest
from sumpool.ranking.config import BoostingConfig
from sumpool.ranking.ranker import LEAF, Forest

FOREST = Forest(
    roots=np.array([0, 3], np.int32),
    feature=np.array([1, LEAF, LEAF, LEAF], np.int16),
    threshold=np.array([0.5, 0, 0, 0], np.float32),
    left=np.array([1, 0, 0, 0], np.int32),
    value=np.array([0, 1, 2, 10], np.float32),
    base=0.25,
)


def test_the_trees_are_added() -> None:
    rows = np.array([[9, 0.5], [9, 0.6], [9, np.nan]], np.float32)
    assert FOREST.predict(rows).tolist() == [11.25, 12.25, 11.25]
    assert FOREST.predict(rows[:0]).shape == (0,)
    assert FOREST.predict(np.tile(rows, (1000, 1))).tolist() == [11.25, 12.25, 11.25] * 1000


def test_rows_reach_the_leaves_that_their_features_lead_to() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(500, 4)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    settings = BoostingConfig(trees=20, leaves=12, min_rows=5)
    forest = fit_forest(rows, np.nan_to_num(rows).prod(axis=1).astype(np.float64), np.ones(500), settings, 1)

    def leaf(row: NDArray[np.float32], node: int) -> int:
        while (feature := forest.feature[node]) != LEAF:
            node = int(forest.left[node]) + bool(np.nan_to_num(row, nan=-np.inf)[feature] > forest.threshold[node])
        return node

    expected = [forest.base + sum(float(forest.value[leaf(row, int(root))]) for root in forest.roots) for row in rows]
    np.testing.assert_allclose(forest.predict(rows), expected, rtol=1e-12)


def test_an_invalid_forest_is_an_error() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"left": np.array([1], np.int32)}, "arrays of a forest must be of one length"),
        ({"left": np.array([0, 0, 0, 0], np.int32)}, "children of a forest must stand behind their parents"),
        ({"left": np.array([3, 0, 0, 0], np.int32)}, "children of a forest must stand behind their parents"),
        ({"roots": np.array([4], np.int32)}, "children of a forest must stand behind their parents"),
        ({"feature": np.array([2, -1, -1, -1], np.int16)}, "features of a forest must be below 2, got 2"),
    ]
    for change, message in cases:
        arrays = {**vars(FOREST), **change}
        with pytest.raises(ValueError, match=message):
            Forest(**arrays).validated(2)
        assert FOREST.validated(2) is FOREST
