"""Training of the ranker on documents with summaries as examples, with features and labels of all sentences of prose.

Cue words are fitted by ridge regression, then boosted trees.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sumpool.documents.document import Document
from sumpool.documents.source_sentences import source_sentences
from sumpool.evaluation.rouge import Tokenize
from sumpool.progress import no_op
from sumpool.ranking.boosting import Boosting, fit_forest
from sumpool.ranking.features import SentenceFeatures, sentence_features
from sumpool.ranking.ranker import (
    CHOICE,
    Cues,
    Forest,
    Matrix,
    Ranker,
    learnt_features,
    sentence_cues,
)
from sumpool.ranking.selection import find_candidates, heading_key
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.word_graph import Values

if TYPE_CHECKING:
    from sumpool.ranking.marks import MarkedExample

_FOLDS = 2
"""Parts of the documents; the cue scores that the trees learn from are fitted on the other part."""
_COMMON_HEADING = 3
"""Documents with a heading at least that tells little of each."""
_MIN_HEADING_CUES = 0.25
"""Share of the documents that a cue of a heading occurs in at least, relative to a cue of a sentence."""

_STEPS = 40
"""Steps of the conjugate-gradient method."""
_BOOSTING, _CHOICE = Boosting(), Boosting(learning_rate=0.05, min_rows=30, columns=0.4, subsample=0.7)
_UNIGRAMS, _BIGRAMS = 0.5, 1.0
"""Weights of the precision in words and in pairs of words."""


def sentence_labels(sentences: Sequence[str], reference: str, tokenize: Tokenize) -> NDArray[np.float64]:
    """Return the label of each sentence, (sentences,), from 0 to 1.5.

    The label is half the share of the sentence's words that the reference has, plus the share of its pairs of words,
    with counts clipped at those of the reference as in ROUGE.

    Args:
        sentences: Sentences of the document.
        reference: Reference summary.
        tokenize: Tokenizer of the words that are compared.
    """
    words = tokenize(reference)
    unigrams, bigrams = Counter[object](words), Counter[object](pairwise(words))
    labels = np.zeros(len(sentences))
    for index, sentence in enumerate(sentences):
        own_words = tokenize(sentence)
        labels[index] = _UNIGRAMS * _precision(own_words, unigrams) + _BIGRAMS * _precision(
            pairwise(own_words), bigrams
        )
    return labels


def _precision(items: Iterable[object], reference: Counter[object]) -> float:
    counts = Counter(items)
    shared = sum(min(count, reference[item]) for item, count in counts.items())
    return shared / max(sum(counts.values()), 1)


@dataclass(frozen=True)
class RankingExample:
    """A document with labels.

    Attributes:
        features: Features of its candidates.
        labels: Label of each candidate, see `sentence_labels`.
        kind: Kind of the document; cues are words that are frequent in two kinds.
    """

    features: SentenceFeatures
    labels: NDArray[np.float64]
    kind: str = ""

    def sample(self, count: int, seed: Sequence[int]) -> "RankingExample":
        """Return the example with at most `count` candidates: half those with the highest labels, half at random."""
        if len(self.labels) <= count:
            return self
        best = np.argsort(-self.labels, kind="stable")
        half = count // 2
        others = np.random.default_rng(seed).permutation(best[half:])[: count - half]
        rows = np.sort(np.concatenate([best[:half], others]))
        return replace(self, features=self.features.part(rows), labels=self.labels[rows])


def with_abstract(document: Document, reference: str) -> Document:
    """Return a document without known structure that begins with its summary, as that of a person does.

    Preparation takes the reference out of the text; what a ranker is to summarise mostly has it.
    """
    return replace(document, text=f"# Abstract\n\n{reference}\n\n{document.text}")


def labelled_example(
    document: Document, reference: str, language: str, tokenize: Tokenize, kind: str = ""
) -> RankingExample:
    """Return a document with its summary as an example.

    Args:
        document: The document.
        reference: Its summary.
        language: Code of its language.
        tokenize: Tokenizer of the words that are compared.
        kind: Kind of the document.
    """
    sentences = source_sentences(document, SentenceSplitter(language))
    candidates = find_candidates(sentences)
    features = sentence_features(sentences, candidates, document.title, language)
    texts = [sentences[index].text for index in candidates]
    return RankingExample(features, sentence_labels(texts, reference, tokenize), kind)


@dataclass(frozen=True)
class Fitting:
    """Settings of a fit.

    Attributes:
        sentences: Sentences of a document at most; of more those with the highest labels and a sample of the others.
        cues: Cue words and pairs of words that are learnt at most.
        min_documents: Documents that a cue occurs in at least.
        ridge: Penalty of large weights of cues.
        seed: Seed of the samples.
        boosting: Trees over structure and words.
        choice: Trees over marks of readers.
    """

    sentences: int = 150
    cues: int = 4000
    min_documents: int = 20
    ridge: float = 30.0
    seed: int = 1
    boosting: Boosting = _BOOSTING
    choice: Boosting = _CHOICE

    def with_trees(self, trees: int) -> "Fitting":
        """Return the settings with another number of trees."""
        return replace(self, boosting=replace(self.boosting, trees=trees), choice=replace(self.choice, trees=trees))


def fit_ranker(examples: Sequence[RankingExample], fitting: Fitting, on_tree: Callable[[int], None] = no_op) -> Ranker:
    """Fit a ranker; deterministic given the seed of the settings.

    Args:
        examples: Documents with labels, at least one with a candidate.
        fitting: Settings.
        on_tree: Called with the number of trees after each.

    Raises:
        ValueError: If there is no candidate.
    """
    examples = [
        example.sample(fitting.sentences, (fitting.seed, number))
        for number, example in enumerate(examples)
        if len(example.features)
    ]
    if not examples:
        raise ValueError("examples must have at least one candidate, got none")
    folds = np.arange(len(examples)) % _FOLDS if len(examples) >= _FOLDS else np.zeros(len(examples), np.int64)
    tables: dict[int, Matrix] = {}
    for fold in np.unique(folds):
        others = [example for example, other in zip(examples, folds, strict=True) if other != fold] or examples
        cues = _fit_cues(others, fitting)
        for index in np.flatnonzero(folds == fold).tolist():
            features = examples[index].features
            tables[index] = np.hstack([features.values, learnt_features(features, cues)])
    forest = fit_forest(
        np.concatenate([tables[index] for index in range(len(examples))]),
        targets(examples),
        sentence_weights(examples),
        fitting.boosting,
        fitting.seed,
        on_tree,
    )
    return Ranker(_fit_cues(examples, fitting), forest)


def fit_choice(ranker: Ranker, examples: "Sequence[MarkedExample]", fitting: Fitting) -> Ranker:
    """Return the ranker with trees that have learnt from marks of readers.

    Args:
        ranker: The ranker; its scores are features.
        examples: Documents with marks.
        fitting: Settings.

    Raises:
        ValueError: If no sentence was judged.
    """
    tables = [np.hstack(ranker.inputs(example.features).tables) for example in examples]

    def fit(name: str, rows: Sequence[NDArray[np.bool_]]) -> Forest:
        chosen = [table[part] for table, part in zip(tables, rows, strict=True)]
        values = [getattr(example, name)[part] for example, part in zip(examples, rows, strict=True)]
        weights = np.concatenate([np.full(len(value), len(value) ** -0.5) for value in values if len(value)])
        return fit_forest(
            np.concatenate(chosen),
            np.concatenate(values).astype(np.float64),
            weights / weights.mean(),
            fitting.choice,
            fitting.seed,
        )

    shown, judged = [example.shown for example in examples], [example.judged for example in examples]
    if not any(part.any() for part in judged):
        raise ValueError("examples must have marks of at least one sentence, got none")
    choice = {name: fit(name, judged if name == "dependence" else shown) for name in CHOICE}
    return replace(ranker, choice=choice, common_headings=common_headings([item.features for item in examples]))


def common_headings(documents: Iterable[SentenceFeatures]) -> frozenset[str]:
    """Return the keys of the headings that several documents have, see `heading_key`."""
    counts = Counter(key for features in documents for key in set(map(heading_key, features.headings)))
    return frozenset(key for key, count in counts.items() if key and count >= _COMMON_HEADING)


def targets(examples: Sequence[RankingExample]) -> Values:
    """Return the labels less the mean of their document, (sentences,)."""
    return np.concatenate([example.labels - example.labels.mean() for example in examples])


def sentence_weights(examples: Sequence[RankingExample]) -> Values:
    """Return the weights of sentences, (sentences,), with mean 1; all documents weigh the same."""
    weights = np.concatenate([np.full(len(item.labels), 1 / len(item.labels)) for item in examples])
    return np.asarray(weights / weights.mean())


def _fit_cues(examples: Sequence[RankingExample], fitting: Fitting) -> Cues:
    kinds = [example.kind for example in examples]
    sentences = [example.features.words for example in examples]
    headings = [tuple(dict.fromkeys(example.features.headings)) for example in examples]
    cues = frequent_cues(sentences, kinds, minimum=fitting.min_documents, maximum=fitting.cues)
    minimum = max(1, round(fitting.min_documents * _MIN_HEADING_CUES))
    heading_cues = frequent_cues(headings, kinds, minimum=minimum, maximum=fitting.cues // 4)
    values, weights = targets(examples), sentence_weights(examples)
    flat = [words for document in sentences for words in document]
    flat_headings = [words for example in examples for words in example.features.headings]
    return Cues(
        fit_cues(cues, flat, values, weights, fitting.ridge),
        fit_cues(heading_cues, flat_headings, values, weights, fitting.ridge),
    )


def frequent_cues(
    documents: Sequence[Iterable[Sequence[str]]], groups: Sequence[str], *, minimum: int, maximum: int
) -> list[str]:
    """Return the cues that occur in many documents of all groups.

    Args:
        documents: Words of the sentences of each document.
        groups: Kind of each document; a cue is as frequent as in the kind where it is second most frequent, so that
            the words of one subject are none.
        minimum: Documents of a kind that a cue occurs in at least, in the two kinds where it is most frequent.
        maximum: Cues at most.
    """
    counts = {group: Counter[str]() for group in sorted(set(groups))}
    for sentences, group in zip(documents, groups, strict=True):
        counts[group].update(set(chain.from_iterable(map(sentence_cues, sentences))))
    sizes = Counter(groups)
    shares: dict[str, float] = {}
    index = min(len(counts), 2) - 1
    for cue in set(chain.from_iterable(counts.values())):
        values = sorted(((counts[group][cue], group) for group in counts), reverse=True)
        count, group = values[index]
        if count >= minimum:
            shares[cue] = count / sizes[group]
    return sorted(shares, key=lambda cue: (-shares[cue], cue))[:maximum]


def fit_cues(
    cues: Sequence[str], sentences: Sequence[Sequence[str]], targets: Values, weights: Values, ridge: float
) -> dict[str, float]:
    """Fit the weights of cues by weighted ridge regression.

    Args:
        cues: The cues.
        sentences: Words of each sentence.
        targets: Target of each sentence, (sentences,).
        weights: Weight of each sentence, (sentences,), with mean 1.
        ridge: Penalty of squared weights.
    """
    columns = {cue: column for column, cue in enumerate(cues)}
    known = [sorted(columns[cue] for cue in sentence_cues(words) if cue in columns) for words in sentences]
    sizes = np.array([len(found) for found in known], np.int64)
    # row, column and value of the non-zero entries of the matrix of sentences by cues
    rows = np.repeat(np.arange(len(known)), sizes)
    numbers = np.fromiter(chain.from_iterable(known), np.int64, int(sizes.sum()))
    values = 1.0 / np.sqrt(sizes[rows])

    def multiply(vector: Values) -> Values:
        return np.bincount(rows, values * vector[numbers], len(sentences)).astype(np.float64)

    def transpose(vector: Values) -> Values:
        return np.bincount(numbers, values * vector[rows], len(cues)).astype(np.float64)

    centred = targets - np.average(targets, weights=weights) if len(targets) else targets
    solution = _conjugate_gradient(
        lambda vector: transpose(weights * multiply(vector)) + ridge * vector, transpose(weights * centred)
    )
    return {cue: float(weight) for cue, weight in zip(cues, np.round(solution, 5), strict=True) if weight}


def _conjugate_gradient(multiply: Callable[[Values], Values], right: Values) -> Values:
    """Solve a positive definite system, given the multiplication by its matrix."""
    solution = np.zeros_like(right)
    residual = direction = right
    norm = float(right @ right)
    for _ in range(_STEPS):
        if norm <= 1e-12:
            break
        image = multiply(direction)
        step = norm / float(direction @ image)
        solution = solution + step * direction
        residual = residual - step * image
        previous, norm = norm, float(residual @ residual)
        direction = residual + norm / previous * direction
    return solution
