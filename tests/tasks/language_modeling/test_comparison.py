import numpy as np
import pytest
from scipy import stats

from sumpool.errors import DataError
from sumpool.tasks.language_modeling.measures import (
    DIFFERENCE_COLUMNS,
    ScoredWindow,
    bits,
    compare_language_models,
    compare_seeds,
    mean_windows,
    score_language_model,
)


def run(seed: int, shift: float = 0.0, count: int = 60) -> list[ScoredWindow]:
    """Scores that depend on the window more than on the model, as those of two models of one text do."""
    text = np.random.default_rng(0).normal(400, 60, count)
    noise = np.random.default_rng(seed).normal(shift, 5, count)
    sizes = [512] * (count - 1) + [77]
    return [
        ScoredWindow(512 * place, size, float(nats) * size / 512, size, size, 80, 100, {5: 100})
        for place, (nats, size) in enumerate(zip(text + noise, sizes, strict=True))
    ]


def test_pairing_shows_what_intervals_do_not() -> None:
    first, second = run(1), run(2, shift=6.0)
    reports = [score_language_model(("", "", ""), (8, 4), windows, 300) for windows in (first, second)]
    (difference,) = compare_language_models({"a": first, "b": second}, 300)
    assert difference.bpc.difference.mean == pytest.approx(reports[0].bpc.mean - reports[1].bpc.mean)
    assert reports[0].bpc.high > reports[1].bpc.low
    assert difference.bpc.difference.high < 0
    assert max(difference.t_test.p_value, difference.bpc.bootstrap, difference.bpc.permutation) < 0.01
    assert difference.bpc.losses > difference.bpc.wins


def test_the_t_test_over_windows_agrees_with_scipy() -> None:
    first, second = run(1), run(2, shift=1.0)
    characters = np.mean([window.characters for window in first])
    values = [[bits(window.nats) / characters for window in windows] for windows in (first, second)]
    expected = stats.ttest_rel(*values)
    (difference,) = compare_language_models({"a": first, "b": second}, 100)
    assert difference.t_test.p_value == pytest.approx(expected.pvalue)


def test_every_pair_is_compared_and_corrected() -> None:
    differences = compare_language_models({"a": run(1), "b": run(2), "c": run(3, shift=9.0)}, 100)
    assert [(part.system, part.other) for part in differences] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert all(part.holm >= part.t_test.p_value for part in differences)
    row = differences[1].row()
    assert len(row) == len(DIFFERENCE_COLUMNS)
    assert row[0] == "a - c"
    assert row[3] == "<0.0001"


def test_other_windows_are_refused() -> None:
    with pytest.raises(DataError, match="b must be evaluated on the windows of a to be compared, got others"):
        compare_language_models({"a": run(1), "b": run(1, count=59)}, 100)


def test_seeds_are_paired_by_seed() -> None:
    system, other = {1: 1.10, 2: 1.13, 3: 1.11, 9: 5.0}, {3: 1.14, 2: 1.15, 1: 1.14}
    expected = stats.ttest_rel([1.10, 1.13, 1.11], [1.14, 1.15, 1.14])
    result = compare_seeds(system, other)
    assert result is not None
    assert result.pairs == 3
    assert result.p_value == pytest.approx(expected.pvalue)
    assert compare_seeds({1: 1.0}, {2: 1.0}) is None


def test_runs_are_averaged_window_by_window() -> None:
    first, second = run(1), run(2)
    averaged = mean_windows([first, second])
    assert averaged[7].nats == pytest.approx((first[7].nats + second[7].nats) / 2)
    assert averaged[7].lengths == first[7].lengths
    with pytest.raises(DataError, match="runs must be evaluated on the same windows to be averaged, got others"):
        mean_windows([first, second[1:]])
