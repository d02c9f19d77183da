"""Trained ranker of sentences: cue words and boosted trees, in one file without pickle.

`Ranker.score` needs numpy only; the ranker is fitted by `fit`, and `select` chooses sentences by its scores.

Cue words have a weight each, fitted to the labels of sentences instead of listed. The cues of a sentence are its words
and pairs of neighbours, and its first words marked as such ("^this", "^in this"); those of a section are the words of
its heading. A sentence's cue score is the sum of its cues' weights over the square root of their number.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from math import fsum
from pathlib import Path
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from sumpool.errors import CheckpointError
from sumpool.io.bounded import check_tensor_header, parse_json
from sumpool.ranking.features import FEATURES, SentenceFeatures, ranks
from sumpool.settings import Settings
from sumpool.text.word_graph import Values

Matrix = NDArray[np.float32]

LEAF: Final = -1
"""Feature of a leaf."""
_BLOCK_ROWS = 256
"""Rows predicted at once: their leaves fit the cache, and the features of a book are not copied."""
_MAX_LEAVES = 64
"""Leaves of a tree, which are bits of an integer."""
_MAX_CELLS = 2**26
"""Trees times thresholds of a forest, each of which takes two to eight bytes."""

_OPENING = 3
"""First words of a sentence that are marked."""
START: Final = "^"
"""Mark of the first words of a sentence."""
FILE: Final = "ranker.safetensors"
"""Name of the file in a run folder."""
LEARNT: Final = (
    "cues",
    "cues_rank",
    "cues_before",
    "cues_after",
    "mean_cues",
    "max_cues",
    "heading_cues",
    "heading_cues_rank",
)
"""Names of the features that are learnt, behind those of `FEATURES`."""
SCORES: Final = ("score", "score_below_best", "score_rank")
"""Names of the features from the score by structure."""
_SCHEMA = 2
_DAMAGE = (OSError, SafetensorError, OverflowError, ValueError, LookupError, TypeError, AttributeError)
_DEPENDENCE, _JUNK, _FRAGMENT = 0.2, 0.2, 0.2
"""Costs of a sentence that certainly does not stand alone, has no content, or begins in lower case, on the scale of
marks."""
_IN_REFERENCES = 0.5
"""Weight of the score that has learnt from reference summaries; marks have few RFCs and papers."""
CHOICE: Final = ("preference", "dependence", "junk")
"""Forests over `FEATURES`, `LEARNT` and `SCORES` that have learnt from marks of readers: how much a reader wants a
sentence in a short summary, from 0 to 1, and the probabilities that it cannot be understood without the text around it,
and that it has no content."""
_CUES: Final = ("sentence", "heading")
_CLASSIFIER: Final = ("mean", "scale", "weights")
"""Arrays of `DocumentClassifier`."""
_DEVIATIONS = 5.0
"""Standard deviations to which the values of a document are clipped."""


class RankingConfig(Settings):
    """Sentence ranker, trained on the sentences of documents with summaries."""

    enabled: bool = True
    """Whether `sumpool train` fits a ranker; the shipped one serves `summarize` otherwise."""
    documents: int = Field(1000, ge=1, le=1_000_000_000)
    """Documents of the training split at most that the ranker is fitted to; of more a sample is taken."""
    trees: int = Field(300, ge=1, le=10_000)
    """Trees over structure and words, and as many over marks of readers."""
    marks: Path | None = None
    """Folder of sheets that readers have filled in, see `sumpool mark`, from which the ranker learns what to choose."""


class _Leaves(NamedTuple):
    """Leaves of the trees of a forest, which are bits of an integer for each tree, from left to right."""

    values: NDArray[np.float32]  # of each leaf, (trees, leaves)
    kind: np.dtype[Any]  # of the integers
    # for each feature its thresholds, and (thresholds + 1, trees) leaves that a value above so many of them may reach
    masks: list[tuple[int, NDArray[np.float32], NDArray[Any]]]


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

    def predict(self, *tables: Matrix) -> Values:
        """Return the prediction for each row of tables of features side by side, (rows,).

        The trees are not walked: of the leaves that all features of a row leave in a tree, the first is the one that
        it reaches (QuickScorer, Lucchese et al., 2015).
        """
        trees = np.arange(len(self.roots))
        leaf_values, kind, masks = self._leaves
        predictions = []
        for start in range(0, max(len(tables[0]), 1), _BLOCK_ROWS):
            rows = np.hstack([table[start : start + _BLOCK_ROWS] for table in tables])
            rows = np.where(np.isnan(rows), np.float32(-np.inf), rows)
            left = np.full((len(rows), len(trees)), np.iinfo(kind).max, kind)
            for column, thresholds, kept in masks:
                left &= kept.take(thresholds.searchsorted(rows[:, column]), axis=0)
            first = np.frexp((left & -left).astype(np.float32))[1] - 1
            predictions.append(self.base + leaf_values[trees, first].sum(axis=1, dtype=np.float64))
        return np.concatenate(predictions)

    @cached_property
    def _leaves(self) -> _Leaves:
        is_inner, left, trees = self.feature != LEAF, self.left, len(self.roots)
        tree = np.zeros(len(left), np.int64)  # of each node
        tree[self.roots] = np.arange(trees)
        levels = [self.roots]
        while len(parents := levels[-1][is_inner[levels[-1]]]):
            levels.append(np.concatenate([left[parents], left[parents] + 1]))
            tree[levels[-1]] = np.tile(tree[parents], 2)
        inner = [nodes[is_inner[nodes]] for nodes in levels]
        sizes = np.ones(len(left), np.int64)  # leaves below each node
        for nodes in reversed(inner):
            sizes[nodes] = sizes[left[nodes]] + sizes[left[nodes] + 1]
        first = np.zeros(len(left), np.int64)  # number of the first of them
        for nodes in inner:
            first[left[nodes]] = first[nodes]
            first[left[nodes] + 1] = first[nodes] + sizes[left[nodes]]
        most = int(sizes[self.roots].max())
        if most > _MAX_LEAVES:
            raise ValueError(f"trees of a forest must have at most {_MAX_LEAVES} leaves, got {most:,}")
        kind = np.min_scalar_type(2**most - 1)
        ends = np.flatnonzero(~is_inner)
        values = np.zeros((trees, most), np.float32)
        values[tree[ends], first[ends]] = self.value[ends]
        masks, cells = [], 0
        for column in np.unique(self.feature[is_inner]).tolist():
            nodes = np.flatnonzero(self.feature == column)
            thresholds, numbers = np.unique(self.threshold[nodes], return_inverse=True)
            cells += (len(thresholds) + 1) * trees
            if cells > _MAX_CELLS:
                raise ValueError(f"a forest must have at most {_MAX_CELLS:,} pairs of a tree and a threshold, got more")
            kept = np.full((len(thresholds) + 1, trees), np.iinfo(kind).max, kind)
            passed = ((1 << sizes[left[nodes]]) - 1) << first[left[nodes]]  # leaves on the left of each split
            np.bitwise_and.at(kept, (numbers + 1, tree[nodes]), ~passed.astype(kind))
            masks.append((column, thresholds, np.bitwise_and.accumulate(kept)))
        return _Leaves(values, kind, masks)

    def validated(self, columns: int) -> "Forest":
        """Return the forest.

        Args:
            columns: Number of features.

        Raises:
            ValueError: If its arrays differ in length, a feature does not exist, a child does not stand behind its
                only parent, or its trees are too large or too many.
        """
        nodes = len(self.feature)
        if not len(self.threshold) == len(self.left) == len(self.value) == nodes:
            raise ValueError(f"arrays of a forest must be of one length, got {nodes} features and others")
        if self.feature.max(initial=LEAF) >= columns:
            raise ValueError(f"features of a forest must be below {columns}, got {self.feature.max()}")
        inner = np.flatnonzero(self.feature != LEAF)
        left = self.left[inner]
        children = np.sort(np.concatenate([self.roots, left, left + 1]))
        if (left <= inner).any() or not np.array_equal(children, np.arange(nodes)):
            raise ValueError("children of a forest must stand behind their parents, one of each, got others")
        _ = self._leaves  # whose limits are checked
        return self


def sentence_cues(words: Sequence[str]) -> set[str]:
    """Return the cues of a sentence."""
    opening = [START + " ".join(words[:size]) for size in range(1, min(_OPENING, len(words)) + 1)]
    return {*words, *map(" ".join, pairwise(words)), *opening}


def cue_scores(weights: Mapping[str, float], sentences: Iterable[Sequence[str]]) -> Values:
    """Return the cue score of each sentence, (sentences,).

    Args:
        weights: Weight of each cue.
        sentences: Words of each sentence; those of a heading are scored in the same way.
    """
    known = ([weights[cue] for cue in weights.keys() & sentence_cues(words)] for words in sentences)
    # Exact sums, in whatever order a set is.
    return np.fromiter((fsum(values) / len(values) ** 0.5 if values else 0.0 for values in known), np.float64)


_ARRAYS = tuple(field.name for field in fields(Forest) if field.name != "base")


@dataclass(frozen=True)
class Cues:
    """Weights of cues.

    Attributes:
        sentence: Weight of each cue of a sentence.
        heading: Weight of each cue of the heading of a section.
    """

    sentence: Mapping[str, float]
    heading: Mapping[str, float]


@dataclass(frozen=True)
class DocumentClassifier:
    """Linear classifier of documents in two classes.

    The values of a document are mean, maximum and standard deviation of every feature of `ChoiceInputs` over its
    candidates.

    Attributes:
        mean: Mean of each value, (values,).
        scale: Standard deviation of each value, (values,).
        weights: Weight of each standardised value, (values,).
        bias: Sum for a document of mean values; the sum is positive for documents of the first class.
    """

    mean: Values
    scale: Values
    weights: Values
    bias: float

    def classify(self, values: Values) -> bool:
        """Return whether a document with such values is in the first class."""
        return bool(self.standardised(values) @ self.weights + self.bias > 0)

    def standardised(self, values: Values) -> Values:
        """Return values in standard deviations from the mean, (..., values)."""
        return np.clip((values - self.mean) / self.scale, -_DEVIATIONS, _DEVIATIONS)


@dataclass(frozen=True)
class ChoiceInputs:
    """Features of the candidates of a document.

    Attributes:
        tables: `FEATURES`, `LEARNT` and `SCORES`, side by side, (candidates, features) each.
        scores: Scores by structure, (candidates,).
    """

    tables: tuple[Matrix, ...]
    scores: Values

    @cached_property
    def document_values(self) -> Values:
        """Mean, maximum and standard deviation of every feature, which `DocumentClassifier` compares, (values,)."""
        columns = [table.astype(np.float64) for table in self.tables]
        values = np.concatenate([f(table, axis=0) for f in (np.mean, np.max, np.std) for table in columns])
        return np.asarray(np.nan_to_num(values, posinf=0.0, neginf=0.0))


@dataclass(frozen=True)
class ChoicePrediction:
    """What a reader would choose, on the scale of marks: 1 for the first sentence of a summary, 0 for none of it.

    Attributes:
        preference: How much a reader wants each candidate, (candidates,).
        costs: What each that does not stand alone, has no content or begins in lower case costs, (candidates,).
        junk: Probability that each has no content, (candidates,).
    """

    preference: Values
    costs: Values
    junk: Values

    def combine(self, scores: Values) -> Values:
        """Return preferences less costs, with a gain for candidates that references would have, (candidates,).

        Args:
            scores: Scores that have learnt from reference summaries, (candidates,), see `Ranker.score`.
        """
        return np.asarray(self.preference + _IN_REFERENCES * np.maximum(scores, 0) - self.costs, np.float64)


@final
@dataclass(frozen=True)
class Ranker:
    """Scores the candidates of a document; higher is better.

    Attributes:
        cues: Learnt cue words.
        structure: Trees over `FEATURES` and `LEARNT`, which have learnt from reference summaries.
        choice: Trees that have learnt from marks of readers, by the names in `CHOICE`; None without.
        domain: Classifier of documents as such with reference summaries; None if all count as such.
        common_headings: Headings that tell little of a document as many have them, see `heading_key`.
    """

    cues: Cues
    structure: Forest
    choice: Mapping[str, Forest] | None = None
    domain: DocumentClassifier | None = None
    common_headings: frozenset[str] = frozenset()

    def score(self, features: SentenceFeatures) -> Values:
        """Return the score of each candidate, (candidates,)."""
        return self.inputs(features).scores if len(features) else np.zeros(0)

    def inputs(self, features: SentenceFeatures) -> "ChoiceInputs":
        """Return what `choice` and `domain` read of at least one candidate."""
        learnt = learnt_features(features, self.cues)
        scores = self.structure.predict(features.values, learnt)
        by_score = np.column_stack([scores, scores - scores.max(), ranks(scores)]).astype(np.float32)
        return ChoiceInputs((features.values, learnt, by_score), scores)

    def predict_choice(self, inputs: "ChoiceInputs") -> "ChoicePrediction":
        """Predict what a reader would choose, from the features of the candidates.

        Raises:
            ValueError: If the ranker has not learnt from marks.
        """
        if self.choice is None:
            raise ValueError("the ranker must have learnt from marks of readers, got one without")
        preference, dependence, junk = (self.choice[name].predict(*inputs.tables) for name in CHOICE)
        is_fragment = inputs.tables[0][:, FEATURES.index("starts_in_lower_case")]
        costs = np.asarray(_DEPENDENCE * dependence + _JUNK * junk + _FRAGMENT * is_fragment, np.float64)
        return ChoicePrediction(preference, costs, junk)

    def is_in_domain(self, inputs: "ChoiceInputs") -> bool | None:
        """Return whether the ranker has learnt from references of such documents; None if that is not known."""
        return None if self.domain is None else self.domain.classify(inputs.document_values)

    def to_bytes(self) -> bytes:
        """Return the content of the ranker's file, `FILE`."""
        forests: dict[str, Forest] = {"structure": self.structure}
        forests |= self.choice or {}
        arrays = {f"{name}.{array}": getattr(forest, array) for name, forest in forests.items() for array in _ARRAYS}
        bases = {name: forest.base for name, forest in forests.items()}
        if self.domain:
            arrays |= {f"domain.{array}": getattr(self.domain, array).astype(np.float32) for array in _CLASSIFIER}
            bases["domain"] = self.domain.bias
        content = {
            "schema": _SCHEMA,
            "features": [*FEATURES, *LEARNT],
            "bases": bases,
            "cues": {"sentence": dict(self.cues.sentence), "heading": dict(self.cues.heading)},
            "common_headings": sorted(self.common_headings),
        }
        metadata = {"ranker": json.dumps(content, ensure_ascii=False, sort_keys=True)}
        content_bytes: bytes = save(arrays, metadata)
        return content_bytes

    @classmethod
    def load(cls, folder: Path) -> "Ranker":
        """Read the ranker of a folder.

        Raises:
            CheckpointError: If the file is missing, damaged, or of another version.
        """
        path = folder / FILE
        try:
            check_tensor_header(path)
            with safe_open(path, "numpy") as file:
                content = parse_json((file.metadata() or {})["ranker"])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
            if (content["schema"], content["features"]) != (_SCHEMA, [*FEATURES, *LEARNT]):
                raise CheckpointError(
                    f"{path} must have the features of this version of sumpool, got others; train the ranker again"
                )
            structure = len(FEATURES) + len(LEARNT)
            columns = {"structure": structure, **dict.fromkeys(CHOICE, structure + len(SCORES))}
            forests = {
                name: Forest(**{array: arrays[f"{name}.{array}"] for array in _ARRAYS}, base=float(base)).validated(
                    columns[name]
                )
                for name, base in content["bases"].items()
                if name != "domain"
            }
            by_cue = ({str(cue): float(weight) for cue, weight in content["cues"][kind].items()} for kind in _CUES)
            domain = None
            if "domain" in content["bases"]:
                mean, scale, weights = (arrays[f"domain.{array}"].astype(np.float64) for array in _CLASSIFIER)
                domain = DocumentClassifier(mean, scale, weights, float(content["bases"]["domain"]))
            choice = {name: forests[name] for name in CHOICE} if CHOICE[0] in forests else None
            return cls(
                Cues(*by_cue), forests["structure"], choice, domain, frozenset(map(str, content["common_headings"]))
            )
        except _DAMAGE as error:
            raise CheckpointError(f"{path} must be a sentence ranker, got {error!r}; train it again") from error


def learnt_features(features: SentenceFeatures, cues: Cues) -> Matrix:
    """Return the features of `LEARNT`, (candidates, features)."""
    sentence = cue_scores(cues.sentence, features.words)
    known = {heading: index for index, heading in enumerate(dict.fromkeys(features.headings))}
    by_heading = cue_scores(cues.heading, list(known))
    heading = by_heading[[known[words] for words in features.headings]]
    before, after = np.roll(sentence, 1), np.roll(sentence, -1)
    before[:1], after[-1:] = np.nan, np.nan
    document = [np.full(len(features), value) for value in (sentence.mean(), sentence.max(initial=0.0))]
    learnt = np.column_stack([sentence, ranks(sentence), before, after, *document, heading, ranks(heading)])
    return learnt.astype(np.float32)
