"""Sum of regression trees: prediction for rows of features, in numpy."""

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Matrix = NDArray[np.float32]

LEAF: Final = -1
"""Feature of a leaf."""
_BLOCK_ROWS = 1024
"""Rows predicted at once: their nodes fit the cache, and memory does not grow with the number of rows."""


@final
@dataclass(frozen=True)
class Forest:
    """Sum of regression trees, as arrays over the nodes of all trees.

    A row goes to `left` if its feature is at most `threshold` or missing, else to `left + 1`.

    Attributes:
        roots: Node that each tree begins at, (trees,).
        feature: Feature of each node, (nodes,); -1 at leaves.
        threshold: Threshold of each node, (nodes,).
        left: Left child of each node, (nodes,).
        value: Value of each leaf, (nodes,); 0 at other nodes.
        base: Prediction without trees.
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int16]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    value: NDArray[np.float32]
    base: float

    def predict(self, rows: Matrix) -> Values:
        """Return the prediction for each row of features, (rows,)."""
        starts = range(0, max(len(rows), 1), _BLOCK_ROWS)
        return np.concatenate([self._predict_block(rows[start : start + _BLOCK_ROWS]) for start in starts])

    def _predict_block(self, rows: Matrix) -> Values:
        count, columns = rows.shape
        values = np.where(np.isnan(rows), np.float32(-np.inf), rows).ravel()
        leaves = np.tile(self.roots, count)  # (rows * trees,): where each row is in each tree
        active = np.arange(len(leaves))  # most rows reach a leaf long before the deepest one
        nodes, starts = leaves, np.repeat(np.arange(count) * columns, len(self.roots))
        while len(active):
            feature = self.feature[nodes]
            inner = np.flatnonzero(feature != LEAF)
            active, nodes, starts = active[inner], nodes[inner], starts[inner]
            right = values[starts + feature[inner]] > self.threshold[nodes]
            nodes = self.left[nodes] + right
            leaves[active] = nodes
        predictions = self.value[leaves].reshape(count, len(self.roots)).sum(axis=1, dtype=np.float64)
        return np.asarray(self.base + predictions)

    def validated(self, columns: int) -> "Forest":
        """Return the forest.

        Args:
            columns: Number of features.

        Raises:
            ValueError: If its arrays differ in length, a feature does not exist, or a child does not stand behind its
                parent.
        """
        nodes = len(self.feature)
        if not len(self.threshold) == len(self.left) == len(self.value) == nodes:
            raise ValueError(f"arrays of a forest must be of one length, got {nodes} features and others")
        if self.feature.max(initial=LEAF) >= columns:
            raise ValueError(f"features of a forest must be below {columns}, got {self.feature.max()}")
        inner = np.flatnonzero(self.feature != LEAF)
        is_ordered = (self.left[inner] > inner) & (self.left[inner] + 1 < nodes)
        if not is_ordered.all() or not ((self.roots >= 0) & (self.roots < nodes)).all():
            raise ValueError("children of a forest must stand behind their parents, got others")
        return self
