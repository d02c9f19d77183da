"""Gradient boosted regression trees on histograms of features, in numpy (Friedman, 2001; Ke et al., 2017, LightGBM).

Each feature is divided into bins at quantiles of the training rows, and a tree grows leaf by leaf where the squared
error falls most. The histogram of the larger child of a split is the parent's less that of the smaller child. Rows
without a value have a bin of their own, below all others. Training costs rows x features per level of a tree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sumpool.ranking.config import BoostingConfig
from sumpool.ranking.forest import LEAF, Forest, Matrix, Values

MAX_BINS: Final = 64
"""Bins of a feature at most, with the one for missing values."""


def fit_forest(rows: Matrix, targets: Values, weights: Values, config: BoostingConfig, seed: int) -> Forest:
    """Fit boosted trees to targets by weighted squared error.

    Args:
        rows: Features, (rows, features); NaN where unknown.
        targets: Target of each row, (rows,).
        weights: Weight of each row, (rows,).
        config: Settings.
        seed: Seed of the sampling of rows.
    """
    edges = [_edges(rows[:, column]) for column in range(rows.shape[1])]
    codes = np.column_stack([_codes(rows[:, column], edge) for column, edge in enumerate(edges)])
    codes += (np.arange(rows.shape[1]) * MAX_BINS).astype(np.int32)
    base = float(np.average(targets, weights=weights))
    residual = targets - base
    generator = np.random.default_rng(seed)
    builder = _ForestBuilder(base)
    for _ in range(config.trees):
        sample = np.flatnonzero(generator.random(len(rows)) < config.subsample)
        columns = np.sort(generator.permutation(rows.shape[1])[: max(1, round(config.columns * rows.shape[1]))])
        tree = _Tree(codes, residual * weights, weights, config, columns)
        tree.grow(sample)
        residual -= config.learning_rate * tree.predict(codes)
        builder.add(tree, edges, config.learning_rate)
    return builder.build()


@dataclass
class _TreeNode:
    """Node of a tree that is growing: its rows, sums of gradients and weights by bin, and its best split."""

    rows: NDArray[np.int64]
    sums: Values  # (2, features * MAX_BINS): weighted residuals and weights
    counts: NDArray[np.int64]  # (features * MAX_BINS)
    value: float = 0.0
    gain: float = 0.0
    code: int = LEAF
    left: int = -1


class _Tree:
    """Regression tree that grows leaf by leaf on binned features."""

    def __init__(
        self,
        codes: NDArray[np.int32],
        gradients: Values,
        weights: Values,
        config: BoostingConfig,
        columns: NDArray[np.int64],
    ) -> None:
        self.nodes: list[_TreeNode] = []
        self._codes, self._gradients, self._weights = codes, gradients, weights
        self._config, self._columns = config, columns

    def grow(self, sample: NDArray[np.int64]) -> None:
        """Grow the tree on some of the rows."""
        self._add(*self._histogram(sample))
        for _ in range(self._config.leaves - 1):
            best = max(range(len(self.nodes)), key=lambda index: self.nodes[index].gain)
            if self.nodes[best].gain <= 0:
                break
            self._split(self.nodes[best])

    def predict(self, codes: NDArray[np.int32]) -> Values:
        """Return the value of the leaf of each row, (rows,)."""
        values = np.empty(len(codes))
        pending = [(0, np.arange(len(codes)))]
        while pending:
            number, rows = pending.pop()
            node = self.nodes[number]
            if node.left < 0:
                values[rows] = node.value
                continue
            right = codes[rows, node.code // MAX_BINS] > node.code
            pending += [(node.left, rows[~right]), (node.left + 1, rows[right])]
        return values

    def _histogram(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], Values, NDArray[np.int64]]:
        codes = self._codes[rows]
        size, features = codes.shape[1] * MAX_BINS, codes.shape[1]
        flat = codes.ravel()
        sums = [np.bincount(flat, np.repeat(part[rows], features), size) for part in (self._gradients, self._weights)]
        return rows, np.stack(sums), np.bincount(flat, minlength=size)

    def _add(self, rows: NDArray[np.int64], sums: Values, counts: NDArray[np.int64]) -> None:
        node = _TreeNode(rows, sums, counts)
        gradient, weight = sums[:, :MAX_BINS].sum(axis=1)
        node.value = float(gradient / (weight + self._config.ridge + 1e-12))
        node.gain, node.code = self._best_split(node)
        self.nodes.append(node)

    def _best_split(self, node: _TreeNode) -> tuple[float, int]:
        """Return the gain of the best split of a node, and the last bin on its left."""
        ridge = self._config.ridge + 1e-12  # an empty child adds 0 / 1e-12
        sums = node.sums.reshape(2, -1, MAX_BINS)[:, self._columns].cumsum(axis=2)
        counts = node.counts.reshape(-1, MAX_BINS)[self._columns].cumsum(axis=1)
        total, total_count = sums[:, :, -1:], counts[:, -1:]
        left, right = sums, total - sums
        gains = left[0] ** 2 / (left[1] + ridge) + right[0] ** 2 / (np.maximum(right[1], 0) + ridge)
        gains -= total[0] ** 2 / (total[1] + ridge)
        is_small = (counts < self._config.min_rows) | (total_count - counts < self._config.min_rows)
        gains[is_small] = -np.inf
        best = int(gains.argmax())
        row, column = divmod(best, MAX_BINS)
        gain = float(gains[row, column])
        return (gain, int(self._columns[row]) * MAX_BINS + column) if gain > 1e-12 else (0.0, LEAF)

    def _split(self, node: _TreeNode) -> None:
        is_right = self._codes[node.rows, node.code // MAX_BINS] > node.code
        children = [node.rows[~is_right], node.rows[is_right]]
        small = int(len(children[1]) < len(children[0]))
        rows, sums, counts = self._histogram(children[small])
        other = (children[1 - small], node.sums - sums, node.counts - counts)
        node.left, node.gain = len(self.nodes), 0.0
        for histogram in ((rows, sums, counts), other)[:: -1 if small else 1]:
            self._add(*histogram)
        node.rows, node.sums = node.rows[:0], node.sums[:, :0]


class _ForestBuilder:
    """Collects the nodes of trees."""

    def __init__(self, base: float) -> None:
        self._base = base
        self._roots: list[int] = []
        self._nodes: list[tuple[int, float, int, float]] = []

    def add(self, tree: _Tree, edges: Sequence[Matrix], scale: float) -> None:
        start = len(self._nodes)
        self._roots.append(start)
        for node in tree.nodes:
            if node.left < 0:
                self._nodes.append((LEAF, 0.0, 0, scale * node.value))
                continue
            column, code = divmod(node.code, MAX_BINS)
            threshold = float(edges[column][code - 1]) if code else -np.inf
            self._nodes.append((column, threshold, start + node.left, 0.0))

    def build(self) -> Forest:
        feature, threshold, left, value = zip(*self._nodes, strict=True)
        return Forest(
            np.array(self._roots, np.int32),
            np.array(feature, np.int16),
            np.array(threshold, np.float32),
            np.array(left, np.int32),
            np.array(value, np.float32),
            self._base,
        )


def _edges(column: Matrix) -> Matrix:
    """Return the upper bounds of all bins but the last one, ascending, at most MAX_BINS - 2."""
    values = np.unique(column[~np.isnan(column)])
    if len(values) <= MAX_BINS - 2:
        middles = values[:-1]
    else:
        shares = np.linspace(0, 1, MAX_BINS)[1:-1]
        middles = np.unique(np.quantile(column[~np.isnan(column)], shares, method="lower"))
    return middles.astype(np.float32)


def _codes(column: Matrix, edges: Matrix) -> NDArray[np.int32]:
    """Return the bin of each value: 0 if it is missing, 1 + the number of bounds below it otherwise."""
    return np.where(np.isnan(column), 0, 1 + np.searchsorted(edges, column, side="left")).astype(np.int32)
