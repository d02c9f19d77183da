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
        is_sampled = generator.random(len(rows)) < config.subsample
        columns = np.sort(generator.permutation(features)[: max(1, round(config.columns * features))])
        tree = _grow_tree(np.ascontiguousarray(codes[:, columns]), residual * weights, weights, is_sampled, config)
        roots.append(len(nodes))
        for node in tree:
            if node.left < 0:
                residual[node.rows] -= config.learning_rate * node.value
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
    """Node of a tree that is growing: its rows, sums by bin, and its best split."""

    rows: NDArray[np.int64]  # whether sampled or not
    sums: Values  # weighted residuals and weights of sampled rows by feature and bin, (2, features, MAX_BINS)
    value: float = 0.0  # weighted mean of the residuals, shrunk by the penalty
    gain: float = 0.0  # decrease of the squared error by the best split; 0 if there is none, or after it
    column: int = LEAF  # feature of the split, among those of the tree
    code: int = 0  # last bin on the left
    left: int = -1  # left child; -1 of a leaf


def _grow_tree(
    codes: NDArray[np.int32], gradients: Values, weights: Values, is_sampled: NDArray[np.bool_], config: Boosting
) -> list[_TreeNode]:
    """Grow a tree leaf by leaf on some of the binned features, (rows, features), fitted to the sampled rows."""
    features = codes.shape[1]
    offsets = (np.arange(features) * MAX_BINS).astype(np.int32)

    def histogram(rows: NDArray[np.int64]) -> Values:
        flat = (codes[rows] + offsets).ravel()
        parts = (np.repeat(part[rows], features) for part in (gradients, weights))
        sums = [np.bincount(flat, part, features * MAX_BINS) for part in parts]
        return np.stack(sums).reshape(2, features, MAX_BINS).astype(np.float64)

    nodes = [_tree_node(np.arange(len(codes)), histogram(np.flatnonzero(is_sampled)), config)]
    for _ in range(config.leaves - 1):
        best = max(nodes, key=lambda node: node.gain)
        if best.gain <= 0:
            break
        is_right = codes[best.rows, best.column] > best.code
        children = [best.rows[~is_right], best.rows[is_right]]
        samples = [rows[is_sampled[rows]] for rows in children]
        small = int(len(samples[1]) < len(samples[0]))
        sums = histogram(samples[small])
        best.left, best.gain = len(nodes), 0.0
        for side in (0, 1):
            nodes.append(_tree_node(children[side], sums if side == small else best.sums - sums, config))
        best.rows, best.sums = best.rows[:0], best.sums[:, :, :0]
    return nodes


def _tree_node(rows: NDArray[np.int64], sums: Values, config: Boosting) -> _TreeNode:
    """Return a node with its best split."""
    gradient, weight = sums[:, 0].sum(axis=1)
    ridge = config.ridge + _TINY
    node = _TreeNode(rows, sums, float(gradient / (weight + config.ridge + _TINY)))
    left = sums.cumsum(axis=2)
    total = left[:, :, -1:]
    right = total - left
    gains = left[0] ** 2 / (left[1] + ridge) + right[0] ** 2 / (np.maximum(right[1], 0) + ridge)
    gains -= total[0] ** 2 / (total[1] + ridge)
    least = config.min_rows * (1 - _TINY)
    gains[(left[1] < least) | (right[1] < least)] = -np.inf
    column, code = divmod(int(gains.argmax()), MAX_BINS)
    if gains[column, code] > _TINY:
        node.gain, node.column, node.code = float(gains[column, code]), column, code
    return node


def _edges(column: Matrix) -> Matrix:
    """Return the upper bounds of all bins but the last one, ascending, at most MAX_BINS - 2."""
    values = np.unique(column[~np.isnan(column)])
    if len(values) <= MAX_BINS - 2:
        middles = values[:-1]
    else:
        shares = np.linspace(0, 1, MAX_BINS)[1:-1]
        middles = np.unique(np.quantile(column[~np.isnan(column)], shares, method="lower"))
    return middles.astype(np.float32)
