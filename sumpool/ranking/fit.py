"""Training of the ranker: cue words by ridge regression, then boosted trees, on the sentences of documents."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sumpool.ranking.boosting import fit_forest
from sumpool.ranking.config import RankingConfig
from sumpool.ranking.cues import fit_cues, frequent_cues
from sumpool.ranking.examples import MarkedExample, RankingExample
from sumpool.ranking.forest import Forest, Values
from sumpool.ranking.ranker import Choice, Cues, Ranker, score_features, with_cues

_FOLDS = 2
"""Parts of the documents; the cue scores that the trees learn from are fitted on the other part."""
_MIN_HEADING_CUES = 0.25
"""Share of the documents that a cue of a heading occurs in at least, relative to a cue of a sentence."""


def fit_ranker(examples: Sequence[RankingExample], config: RankingConfig) -> Ranker:
    """Fit a ranker; deterministic given the seed of the settings.

    Args:
        examples: Documents with labels, at least one with a candidate.
        config: Settings.

    Raises:
        ValueError: If there is no candidate.
    """
    examples = [
        example.sample(config.sentences, (config.seed, number))
        for number, example in enumerate(examples)
        if len(example.features)
    ]
    if not examples:
        raise ValueError("examples must have at least one candidate, got none")
    folds = np.arange(len(examples)) % _FOLDS if len(examples) >= _FOLDS else np.zeros(len(examples), np.int64)
    tables = [with_cues(example.features, Cues({}, {})) for example in examples]
    for fold in np.unique(folds):
        others = [example for example, other in zip(examples, folds, strict=True) if other != fold] or examples
        cues = _fit_cues(others, config)
        for index in np.flatnonzero(folds == fold):
            tables[index] = with_cues(examples[index].features, cues)
    forest = fit_forest(
        np.concatenate(tables), targets(examples), sentence_weights(examples), config.boosting, config.seed
    )
    return Ranker(_fit_cues(examples, config), forest)


def fit_agreement(ranker: Ranker, examples: Sequence[RankingExample], config: RankingConfig) -> Ranker:
    """Return the ranker with trees over its score and the agreement with sampled summaries.

    Args:
        ranker: The ranker.
        examples: Documents with labels and agreement that neither ranker nor model was trained on.
        config: Settings.
    """
    structure = Ranker(ranker.cues, ranker.structure)
    rows = [
        np.hstack([score_features(structure.score(item.features)), item.features.agreement])
        for item in examples
        if item.features.agreement is not None
    ]
    weights = sentence_weights(examples)
    forest: Forest = fit_forest(np.concatenate(rows), targets(examples), weights, config.agreement, config.seed)
    return Ranker(ranker.cues, ranker.structure, forest, ranker.choice)


def fit_choice(ranker: Ranker, examples: Sequence[MarkedExample], config: RankingConfig) -> Ranker:
    """Return the ranker with trees that have learnt from marks of readers.

    Args:
        ranker: The ranker; its scores are features.
        examples: Documents with marks.
        config: Settings.

    Raises:
        ValueError: If no sentence was judged.
    """
    tables = [np.hstack(ranker.choice_features(example.features)) for example in examples]

    def fit(name: str, rows: Sequence[NDArray[np.bool_]]) -> Forest:
        chosen = [table[part] for table, part in zip(tables, rows, strict=True)]
        values = [getattr(example, name)[part] for example, part in zip(examples, rows, strict=True)]
        weights = np.concatenate([np.full(len(value), len(value) ** -0.5) for value in values if len(value)])
        return fit_forest(
            np.concatenate(chosen),
            np.concatenate(values).astype(np.float64),
            weights / weights.mean(),
            config.choice,
            config.seed,
        )

    shown, judged = [example.shown for example in examples], [example.judged for example in examples]
    if not any(part.any() for part in judged):
        raise ValueError("examples must have marks of at least one sentence, got none")
    choice = Choice(fit("preference", shown), fit("dependence", judged), fit("junk", shown))
    return Ranker(ranker.cues, ranker.structure, ranker.agreement, choice)


def targets(examples: Sequence[RankingExample]) -> Values:
    """Return the labels less the mean of their document, (sentences,)."""
    return np.concatenate([example.labels - example.labels.mean() for example in examples])


def sentence_weights(examples: Sequence[RankingExample]) -> Values:
    """Return the weights of sentences, (sentences,), with mean 1; all documents weigh the same."""
    weights = np.concatenate([np.full(len(item.labels), 1 / len(item.labels)) for item in examples])
    return np.asarray(weights / weights.mean())


def _fit_cues(examples: Sequence[RankingExample], config: RankingConfig) -> Cues:
    kinds = [example.kind for example in examples]
    sentences = [example.features.words for example in examples]
    headings = [tuple(dict.fromkeys(example.features.headings)) for example in examples]
    cues = frequent_cues(sentences, kinds, minimum=config.min_documents, maximum=config.cues)
    minimum = max(1, round(config.min_documents * _MIN_HEADING_CUES))
    heading_cues = frequent_cues(headings, kinds, minimum=minimum, maximum=config.cues // 4)
    values, weights = targets(examples), sentence_weights(examples)
    flat = [words for document in sentences for words in document]
    flat_headings = [words for example in examples for words in example.features.headings]
    return Cues(
        fit_cues(cues, flat, values, weights, config.ridge),
        fit_cues(heading_cues, flat_headings, values, weights, config.ridge),
    )
