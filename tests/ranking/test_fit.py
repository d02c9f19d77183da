import numpy as np
import pytest

from sumpool.ranking.agreement_features import AGREEMENT_FEATURES
from sumpool.ranking.config import BoostingConfig, RankingConfig
from sumpool.ranking.examples import RankingExample
from sumpool.ranking.fit import fit_agreement, fit_ranker, sentence_weights, targets
from tests.ranking.planted import example

CONFIG = RankingConfig(
    min_documents=5,
    boosting=BoostingConfig(trees=20, leaves=4, min_rows=5),
    agreement=BoostingConfig(trees=30, leaves=4, min_rows=5),
)


def test_all_documents_weigh_the_same() -> None:
    examples = [*(example(seed, "many") for seed in range(9)), example(9, "few").sample(4, (1,))]
    weights = sentence_weights(examples)
    parts = np.split(weights, np.cumsum([len(item.labels) for item in examples])[:-1])
    assert weights.mean() == pytest.approx(1)
    assert [part.sum() for part in parts] == pytest.approx([len(weights) / 10] * 10)


def test_targets_are_relative_to_the_document() -> None:
    values = targets([example(1), example(2)])
    first = len(example(1).labels)
    assert values[:first].mean() == pytest.approx(0)
    assert values[:first] == pytest.approx(example(1).labels - example(1).labels.mean())


def test_agreement_with_samples_changes_the_score_where_it_is_known() -> None:
    examples = [example(seed) for seed in range(60)]
    ranker = fit_ranker(examples[:30], CONFIG)
    generator = np.random.default_rng(0)

    def with_samples(item: RankingExample) -> RankingExample:
        rows = generator.normal(size=(len(item.labels), len(AGREEMENT_FEATURES))).astype(np.float32)
        rows[:, 1] = item.labels
        return item.with_agreement(rows)

    sampled = fit_agreement(ranker, [with_samples(item) for item in examples[30:]], CONFIG)
    plain = examples[0]
    np.testing.assert_array_equal(sampled.score(plain.features), ranker.score(plain.features))
    tests = [with_samples(example(seed)) for seed in range(100, 110)]
    correlations = [np.corrcoef(sampled.score(item.features), item.labels)[0, 1] for item in tests]
    assert np.mean(correlations) > 0.95
