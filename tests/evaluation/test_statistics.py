import numpy as np
import pytest
from scipy import stats

from sumpool.evaluation import statistics
from sumpool.evaluation.statistics import Estimate, compare, estimate, estimate_ratio, holm


def scores(documents: int, seed: int = 0) -> statistics.Floats:
    return np.random.default_rng(seed).beta(4, 6, size=(documents, 2))


def test_the_interval_is_the_percentile_bootstrap_of_scipy() -> None:
    values = scores(200)
    expected = stats.bootstrap(
        (values[:, 0],), np.mean, n_resamples=20000, method="percentile", rng=np.random.default_rng(5)
    ).confidence_interval
    interval = estimate(values, 20000)[0]
    assert interval == estimate(values, 20000)[0]
    assert interval.mean == pytest.approx(values[:, 0].mean())
    assert interval.low == pytest.approx(expected.low, abs=5e-4)
    assert interval.high == pytest.approx(expected.high, abs=5e-4)


def test_the_batch_size_of_the_resamples_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values, other = scores(40), scores(40, seed=1)
    whole = estimate(values, 300), compare(values, other, 300)
    monkeypatch.setattr(statistics, "_MAX_DRAWS", 7 * 40)
    batched = estimate(values, 300), compare(values, other, 300)
    for first, second in zip(whole[0], batched[0], strict=True):
        assert (first.low, first.high) == pytest.approx((second.low, second.high))
    assert [test.permutation for test in whole[1]] == [test.permutation for test in batched[1]]


def test_the_permutation_test_agrees_with_scipy() -> None:
    first, second = scores(30), scores(30, seed=9)
    expected = stats.permutation_test(
        (first[:, 0], second[:, 0]),
        lambda one, two, axis: np.mean(one - two, axis=axis),
        permutation_type="samples",
        n_resamples=20000,
        vectorized=True,
        rng=np.random.default_rng(5),
    ).pvalue
    assert compare(first, second, 20000)[0].permutation == pytest.approx(expected, abs=0.015)


def test_a_constant_gain_is_certain_and_no_gain_is_not() -> None:
    noise = np.random.default_rng(2).normal(0, 0.01, size=(100, 1))
    base = scores(100)[:, :1]
    better = compare(base + 0.05 + noise, base, 1000)[0]
    assert better.difference.mean == pytest.approx(0.05, abs=0.005)
    assert better.bootstrap == better.permutation == pytest.approx(1 / 1001)
    same = compare(base, base, 1000)[0]
    assert same.bootstrap == same.permutation == 1.0
    null = compare(base + noise - noise.mean(), base, 1000)[0]
    assert null.bootstrap > 0.9
    assert null.permutation > 0.9
    one = compare(base[:1] + 0.05, base[:1], 1000)[0]
    assert one.permutation == 1.0  # a swap changes the sign alone


def test_wins_ties_and_losses_are_counted() -> None:
    first, second = np.array([[0.5], [0.1], [0.1 + 0.2], [0.0]]), np.array([[0.4], [0.2], [0.3], [0.0]])
    test = compare(first, second, 100)[0]
    assert (test.wins, test.ties, test.losses) == (1, 2, 1)  # 0.1 + 0.2 is 0.3 but for rounding


def naive_holm(p_values: list[float]) -> list[float]:
    """Smallest level at which the step-down procedure rejects each hypothesis, tried out."""
    levels = sorted({min(1.0, factor * p) for p in p_values for factor in range(1, len(p_values) + 1)} | {1.0})

    def rejected(level: float) -> set[int]:
        order = sorted(range(len(p_values)), key=lambda index: p_values[index])
        kept = set()
        for rank, index in enumerate(order):
            if p_values[index] > level / (len(p_values) - rank) * (1 + 1e-12):
                break
            kept.add(index)
        return kept

    return [min([level for level in levels if index in rejected(level)] or [1.0]) for index in range(len(p_values))]


def test_holm_is_the_step_down_procedure() -> None:
    for seed in range(30):
        generator = np.random.default_rng(seed)
        p_values = generator.choice([0.001, 0.01, 0.02, 0.04, 0.3, 0.9], size=1 + seed % 7).tolist()
        assert holm(p_values) == pytest.approx(naive_holm(p_values))


def test_no_documents_and_other_documents_are_refused() -> None:
    with pytest.raises(ValueError, match="values must contain at least one document, got none"):
        estimate(np.empty((0, 2)), 100)
    with pytest.raises(ValueError, match="numerators must contain at least one document, got none"):
        estimate_ratio(np.array([]), np.array([]), 100)
    with pytest.raises(ValueError, match=r"same documents, got \(3, 2\) and \(4, 2\)"):
        compare(scores(3), scores(4), 100)


def test_ratio_of_means_with_interval() -> None:
    generator = np.random.default_rng(1)
    numerators, denominators = generator.normal(6, 1, 400), generator.normal(2, 1, 400)
    ratio = estimate_ratio(numerators, denominators, 2000)
    assert ratio.mean == pytest.approx(numerators.mean() / denominators.mean())
    assert ratio.low < 3 < ratio.high
    # Standard error by the delta method.
    error = np.std(numerators - ratio.mean * denominators) / denominators.mean() / 20
    assert ratio.high - ratio.low == pytest.approx(2 * 1.96 * error, rel=0.1)
    values = np.arange(1.0, 9.0)
    assert estimate_ratio(values, values, 100) == Estimate(1, 1, 1)
