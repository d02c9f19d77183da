"""Measures of a classifier: accuracy, F1 of each class, and the confusion table.

The interval of the accuracy is Wilson's (1927), which holds for few documents and near 0 and 1; that of the macro F1
is the percentile bootstrap over documents, which resamples the confusion table.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sumpool.evaluation.report import Evaluation, TitledTable
from sumpool.evaluation.statistics import SEED, Estimate, Floats

_MAX_CONFUSION = 20
"""Classes up to which the confusion table is shown."""
_Z = 1.959963984540054
"""97.5th percentile of the normal distribution."""


@dataclass(frozen=True)
class ClassScores:
    """Scores of one class, from 0 to 1; a score without any document to count is 0.

    Attributes:
        label: Label of the class.
        documents: Documents with the label.
        precision: Fraction of the documents given the label that have it.
        recall: Fraction of the documents with the label that were given it.
        f1: Harmonic mean of both.
    """

    label: str
    documents: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class ClassificationReport(Evaluation):
    """Results of the evaluation of a classifier.

    Attributes:
        model: Name of the model.
        split: Split of the documents.
        documents: Number of documents.
        accuracy: Fraction of correct labels with Wilson's 95 % interval.
        macro_f1: Mean F1 of the classes that occur, with its 95 % bootstrap interval.
        nats: Mean negative log-likelihood of the labels.
        majority: Accuracy of the most frequent label.
        classes: Scores by class.
        confusion: Documents by label (rows) and predicted label (columns).
        truncated: Documents of which only the beginning was read.
    """

    model: str
    split: str
    documents: int
    accuracy: Estimate
    macro_f1: Estimate
    nats: float
    majority: float
    classes: tuple[ClassScores, ...]
    confusion: tuple[tuple[int, ...], ...]
    truncated: int

    def tables(self) -> list[TitledTable]:
        """Lay out scores, scores by class, and the confusion table, which of many classes is left to the JSON."""
        shares = ([f"{100 * part:.1f}" for part in (of.precision, of.recall, of.f1)] for of in self.classes)
        rows = [[of.label, f"{of.documents:,}", *row] for of, row in zip(self.classes, shares, strict=True)]
        tables: list[TitledTable] = [
            (["", "%", "95 % interval"], self.score_rows(), f"{self.model}, {self.split}", 1),
            (["label", "documents", "precision", "recall", "F1"], rows, "", 1),
        ]
        if len(self.classes) > _MAX_CONFUSION:
            return tables
        labels = [of.label for of in self.classes]
        counts = [[name, *map(str, row)] for name, row in zip(labels, self.confusion, strict=True)]
        return [*tables, (["label \\ predicted", *labels], counts, "", 1)]

    def score_rows(self) -> list[list[str]]:
        """Return the rows of the table of scores: name, value in percent, interval."""
        measures = (("accuracy", self.accuracy), ("macro F1", self.macro_f1))
        rows = [[name, f"{100 * of.mean:.2f}", f"{100 * of.low:.2f} to {100 * of.high:.2f}"] for name, of in measures]
        return [
            *rows,
            ["most frequent label", f"{100 * self.majority:.2f}", ""],
            ["nats per label", f"{self.nats:.4f}", ""],
            ["documents", f"{self.documents:,}", f"{self.truncated:,} truncated"],
        ]


def score_labels(
    origin: tuple[str, str],
    names: Sequence[str],
    labels: np.ndarray,
    log_probs: np.ndarray,
    resamples: int,
    truncated: int = 0,
) -> ClassificationReport:
    """Score predictions.

    Args:
        origin: Name of the model, and split of the documents.
        names: Label of each class.
        labels: (documents,) class of each document.
        log_probs: (documents, classes) log-probabilities.
        resamples: Resamples of the bootstrap.
        truncated: Documents of which only the beginning was read.
    """
    confusion = np.zeros((len(names), len(names)), np.int64)
    np.add.at(confusion, (labels, log_probs.argmax(1)), 1)
    total = int(confusion.sum())
    draws = np.random.default_rng(SEED).multinomial(total, confusion.ravel() / total, resamples)
    macro = np.array([macro_f1(draw.reshape(confusion.shape)) for draw in draws])
    low, high = (float(bound) for bound in np.percentile(macro, (2.5, 97.5)))
    precision, recall, f1 = scores_of(confusion)
    classes = zip(names, confusion.sum(1).tolist(), precision.tolist(), recall.tolist(), f1.tolist(), strict=True)
    return ClassificationReport(
        model=origin[0],
        split=origin[1],
        documents=total,
        accuracy=wilson(int(confusion.trace()), total),
        macro_f1=Estimate(macro_f1(confusion), low, high),
        nats=-float(log_probs[np.arange(total), labels].mean()),
        majority=float(confusion.sum(1).max() / total),
        classes=tuple(ClassScores(*row) for row in classes),
        confusion=tuple(map(tuple, confusion.tolist())),
        truncated=truncated,
    )


def wilson(successes: int, trials: int) -> Estimate:
    """Return a proportion with Wilson's 95 % score interval."""
    share, weight = successes / trials, _Z**2 / trials
    centre = (share + weight / 2) / (1 + weight)
    margin = _Z * math.sqrt(share * (1 - share) / trials + weight / (4 * trials)) / (1 + weight)
    return Estimate(share, max(0.0, min(share, centre - margin)), min(1.0, max(share, centre + margin)))


def scores_of(confusion: np.ndarray) -> tuple[Floats, Floats, Floats]:
    """Return precision, recall and F1 of each class, (classes,), from documents by label and predicted label."""
    hits = confusion.diagonal().astype(np.float64)
    given, real = confusion.sum(0), confusion.sum(1)
    return hits / np.maximum(given, 1), hits / np.maximum(real, 1), 2 * hits / np.maximum(given + real, 1)


def macro_f1(confusion: np.ndarray) -> float:
    """Return the mean F1 of the classes that are labels or predictions of a document."""
    occurs = confusion.sum(0) + confusion.sum(1) > 0
    return float(scores_of(confusion)[2][occurs].mean())
