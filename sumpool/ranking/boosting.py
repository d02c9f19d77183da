"""Gradient boosted regression trees on histograms of features, in numpy (Friedman, 2001; Ke et al., 2017, LightGBM).

Each feature is divided into bins at quantiles of the training rows, and a tree grows leaf by leaf where the squared
error falls most. The histogram of the larger child of a split is the parent's less that of the smaller child. Rows
without a value have a bin of their own, below all others. Training costs rows x features per level of a tree.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sumpool.progress import no_op
from sumpool.ranking.ranker import LEAF, Forest, Matrix
from sumpool.text.word_graph import Values

Codes = NDArray[np.int32]
"""Bin of each row and feature, (rows, features)."""
MAX_BINS: Final = 64
"""Bins of a feature at most, with the one for missing values."""
_TINY = 1e-12


@dataclass(frozen=True)
class Boosting:
    """Settings of boosted trees.

    Attributes:
        trees: Trees.
        leaves: Leaves of a tree at most.
        learning_rate: Share of a tree's prediction that is added.
        min_rows: Rows of a leaf at least, by their weights with mean 1.
        subsample: Share of the rows that each tree is fitted to.
        columns: Share of the features that each tree may use.
        ridge: Penalty of large values of leaves, in rows.
    """

    trees: int = 300
    leaves: int = 16
    learning_rate: float = 0.06
    min_rows: int = 60
    subsample: float = 0.5
    columns: float = 0.5
    ridge: float = 5.0


def fit_forest(
    rows: Matrix,
    targets: Values,
    weights: Values,
    config: Boosting,
    seed: int,
    on_tree: Callable[[int], None] = no_op,
) -> Forest:
    """Fit boosted trees to targets by weighted squared error.

    Args:
        rows: Features, (rows, features); NaN where unknown.
        targets: Target of each row, (rows,).
        weights: Weight of each row, (rows,).
        config: Settings.
        seed: Seed of the sampling of rows.
        on_tree: Called with the number of trees after each.
    """
    features = rows.shape[1]
    edges = [_edges(rows[:, column]) for column in range(features)]
    codes = np.column_stack(  # 0 if a value is missing, 1 + the number of bounds below it otherwise
        [
            np.where(np.isnan(column), 0, 1 + np.searchsorted(edge, column, side="left")).astype(np.int32)
            for column, edge in zip(rows.T, edges, strict=True)
        ]
    )
    base = float(np.average(targets, weights=weights))
    residual = targets - base
    generator = np.random.default_rng(seed)
    roots: list[int] = []
    nodes: list[tuple[int, float, int, float]] = []
    for _ in range(config.trees):
        sample = np.flatnonzero(generator.random(len(rows)) < config.subsample)
        columns = np.sort(generator.permutation(features)[: max(1, round(config.columns * features))])
        tree = _Tree(np.ascontiguousarray(codes[:, columns]), residual * weights, weights, config)
        tree.grow(sample)
        residual -= config.learning_rate * tree.predict()
        roots.append(len(nodes))
        for node in tree.nodes:
            if node.left < 0:
                nodes.append((LEAF, 0.0, 0, config.learning_rate * node.value))
                continue
            column = int(columns[node.column])
            threshold = float(edges[column][node.code - 1]) if node.code else -np.inf
            nodes.append((column, threshold, roots[-1] + node.left, 0.0))
        on_tree(len(roots))
    feature, thresholds, left, value = zip(*nodes, strict=True)
    return Forest(
        np.array(roots, np.int32),
        np.array(feature, np.int16),
        np.array(thresholds, np.float32),
        np.array(left, np.int32),
        np.array(value, np.float32),
        base,
    )


@dataclass
class _TreeNode:
    """Node of a tree that is growing: its rows, sums by bin, and its best split.

    Attributes:
        rows: Rows of the node.
        sums: Weighted residuals and weights by feature and bin, (2, features, MAX_BINS).
        value: Weighted mean of the residuals, shrunk by the penalty.
        gain: Decrease of the squared error by the best split; 0 if there is none, or after it.
        column: Feature of the split, among those of the tree.
        code: Last bin on the left.
        left: Left child; -1 of a leaf.
    """

    rows: NDArray[np.int64]
    sums: Values
    value: float = 0.0
    gain: float = 0.0
    column: int = LEAF
    code: int = 0
    left: int = -1


class _Tree:
    """Regression tree that grows leaf by leaf on some of the binned features."""

    def __init__(self, codes: Codes, gradients: Values, weights: Values, config: Boosting) -> None:
        self.nodes: list[_TreeNode] = []
        self._codes, self._gradients, self._weights, self._config = codes, gradients, weights, config
        self._offsets = (np.arange(codes.shape[1]) * MAX_BINS).astype(np.int32)

    def grow(self, sample: NDArray[np.int64]) -> None:
        """Grow the tree on some of the rows."""
        self._add(sample, self._histogram(sample))
        for _ in range(self._config.leaves - 1):
            best = max(self.nodes, key=lambda node: node.gain)
            if best.gain <= 0:
                break
            is_right = self._codes[best.rows, best.column] > best.code
            children = [best.rows[~is_right], best.rows[is_right]]
            small = int(len(children[1]) < len(children[0]))
            sums = self._histogram(children[small])
            histograms = [sums, best.sums - sums]
            best.left, best.gain = len(self.nodes), 0.0
            for side in (0, 1):
                self._add(children[side], histograms[side != small])
            best.rows, best.sums = best.rows[:0], best.sums[:, :, :0]

    def predict(self) -> Values:
        """Return the value of the leaf of each row, (rows,)."""
        values = np.empty(len(self._codes))
        pending = [(0, np.arange(len(self._codes)))]
        while pending:
            number, rows = pending.pop()
            node = self.nodes[number]
            if node.left < 0:
                values[rows] = node.value
                continue
            right = self._codes[rows, node.column] > node.code
            pending += [(node.left, rows[~right]), (node.left + 1, rows[right])]
        return values

    def _histogram(self, rows: NDArray[np.int64]) -> Values:
        """Return the weighted residuals and weights of rows by feature and bin."""
        features = self._codes.shape[1]
        flat = (self._codes[rows] + self._offsets).ravel()
        parts = (np.repeat(part[rows], features) for part in (self._gradients, self._weights))
        sums = [np.bincount(flat, part, features * MAX_BINS) for part in parts]
        return np.stack(sums).reshape(2, features, MAX_BINS).astype(np.float64)

    def _add(self, rows: NDArray[np.int64], sums: Values) -> None:
        """Add a node with its best split."""
        gradient, weight = sums[:, 0].sum(axis=1)
        node = _TreeNode(rows, sums, float(gradient / (weight + self._config.ridge + _TINY)))
        self.nodes.append(node)
        left = sums.cumsum(axis=2)
        total = left[:, :, -1:]
        right = total - left
        ridge = self._config.ridge + _TINY
        gains = left[0] ** 2 / (left[1] + ridge) + right[0] ** 2 / (np.maximum(right[1], 0) + ridge)
        gains -= total[0] ** 2 / (total[1] + ridge)
        least = self._config.min_rows * (1 - _TINY)
        gains[(left[1] < least) | (right[1] < least)] = -np.inf
        column, code = divmod(int(gains.argmax()), MAX_BINS)
        if gains[column, code] > _TINY:
            node.gain, node.column, node.code = float(gains[column, code]), column, code


def _edges(column: Matrix) -> Matrix:
    """Return the upper bounds of all bins but the last one, ascending, at most MAX_BINS - 2."""
    values = np.unique(column[~np.isnan(column)])
    if len(values) <= MAX_BINS - 2:
        middles = values[:-1]
    else:
        shares = np.linspace(0, 1, MAX_BINS)[1:-1]
        middles = np.unique(np.quantile(column[~np.isnan(column)], shares, method="lower"))
    return middles.astype(np.float32)
