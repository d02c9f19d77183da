import json
import math

import numpy as np
import pytest
from scipy import stats

from sumpool.errors import DataError
from sumpool.evaluation.statistics import holm
from sumpool.tasks.language_modeling.config import TextEvaluationConfig
from sumpool.tasks.language_modeling.evaluate import LanguageModelEvaluation
from sumpool.tasks.language_modeling.measures import (
    DIFFERENCE_COLUMNS,
    ScoredWindow,
    SegmentLengths,
    compare_language_models,
    compare_seeds,
    describe_lengths,
    format_p_value,
    mean_windows,
    score_language_model,
)

FEW = TextEvaluationConfig(resamples=200)


def windows(count: int = 40) -> list[ScoredWindow]:
    nats = np.random.default_rng(1).normal(400, 30, count)
    whole = [ScoredWindow(0, 512, float(value), 128, {4: 128}) for value in nats]
    return [*whole, ScoredWindow(0, 100, 70.0, 20, {4: 20})]


def test_bpc_is_bits_over_characters_of_all_windows() -> None:
    report = score_language_model("model", "test", FEW, windows(), ["the ", "qui"])
    nats, characters = sum(window.nats for window in windows()), 40 * 512 + 100
    assert report.bpc.mean == pytest.approx(nats / math.log(2) / characters)
    assert report.bpc.low < report.bpc.mean < report.bpc.high
    assert report.shortening_factor is not None
    assert report.shortening_factor.mean == pytest.approx(characters / (40 * 128 + 20))
    low, high = report.bpc.low, report.bpc.high
    assert report.score_rows()[0] == ["bits per character", f"{report.bpc.mean:.4f}", f"{low:.4f} to {high:.4f}"]
    assert report.score_rows()[2:] == [["characters", f"{characters:,}", ""], ["windows", "41", ""]]
    plain = score_language_model("model", "test", FEW, [ScoredWindow(0, 9, 4.0, 0, {})])
    assert plain.shortening_factor is None
    assert plain.segments is None
    loaded = json.loads(LanguageModelEvaluation({"model": report}).to_json())
    assert loaded["sample"] == ["the ", "qui"]
    assert loaded["segments"]["counts"] == {"4": 40 * 128 + 20}
    assert loaded["bpc"]["mean"] == report.bpc.mean


def test_lengths_are_described_as_numpy_describes_the_list() -> None:
    lengths = np.random.default_rng(2).geometric(0.2, 999)
    counts = dict(zip(*np.unique(lengths, return_counts=True), strict=True))
    described = describe_lengths([{int(k): int(v)} for k, v in counts.items()])
    assert described is not None
    assert described.mean == pytest.approx(lengths.mean())
    assert described.deviation == pytest.approx(lengths.std())
    assert described.median == np.percentile(lengths, 50, method="inverted_cdf")
    assert described.p90 == np.percentile(lengths, 90, method="inverted_cdf")
    assert (described.longest, described.segments) == (lengths.max(), 999)
    assert describe_lengths([{}]) is None
    long = describe_lengths([{1: 1, 3: 2, 20: 1}])
    assert long is not None
    rows = long.rows()  # long segments share a row
    assert rows[0] == ["1", "1", "25.0"]
    assert rows[1] == ["2", "0", "0.0"]
    assert rows[-1] == ["17-20", "1", "25.0"]
    short = SegmentLengths(5, 2.2, 1.0, 2, 3, 3, {1: 1, 2: 2, 3: 2}).rows()
    assert short == [["1", "1", "20.0"], ["2", "2", "40.0"], ["3", "2", "40.0"]]


def run(seed: int, shift: float = 0.0, count: int = 60) -> list[ScoredWindow]:
    """Scores that depend on the window more than on the model, as those of two models of one text do."""
    text = np.random.default_rng(0).normal(400, 60, count)
    noise = np.random.default_rng(seed).normal(shift, 5, count)
    sizes = [512] * (count - 1) + [77]
    return [
        ScoredWindow(512 * place, size, float(nats) * size / 512, 100, {5: 100})
        for place, (nats, size) in enumerate(zip(text + noise, sizes, strict=True))
    ]


def test_pairing_shows_what_intervals_do_not() -> None:
    first, second = run(1), run(2, shift=6.0)
    reports = [score_language_model("", "", FEW, windows) for windows in (first, second)]
    (difference,) = compare_language_models({"a": first, "b": second}, 300)
    assert difference.bpc.difference.mean == pytest.approx(reports[0].bpc.mean - reports[1].bpc.mean)
    assert reports[0].bpc.high > reports[1].bpc.low
    assert difference.bpc.difference.high < 0
    assert max(difference.bpc.bootstrap, difference.bpc.permutation) < 0.01
    assert difference.bpc.losses > difference.bpc.wins


@pytest.mark.parametrize("count", [2, 60, 61])
def test_windows_are_paired_by_a_t_test(count: int) -> None:
    first, second = run(1, count=count), run(2, shift=1.0, count=count)
    (difference,) = compare_language_models({"a": first, "b": second}, 100)
    expected = stats.ttest_rel([window.nats for window in first], [window.nats for window in second])
    assert difference.t_test == pytest.approx(expected.pvalue)
    assert difference.row()[3] == format_p_value(difference.t_test)


def test_every_pair_is_compared_and_corrected() -> None:
    differences = compare_language_models({"a": run(1), "b": run(2), "c": run(3, shift=9.0)}, 100)
    assert [(part.system, part.other) for part in differences] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [part.holm for part in differences] == holm([part.bpc.permutation for part in differences])
    row = differences[1].row()
    assert len(row) == len(DIFFERENCE_COLUMNS)
    assert row[0] == "a - c"
    assert row[6] == format_p_value(differences[1].holm)
    with pytest.raises(DataError, match="b must be evaluated on the windows of a to be compared, got others"):
        compare_language_models({"a": run(1), "b": run(1, count=59)}, 100)


def test_seeds_are_paired_by_seed() -> None:
    for seeds in (2, 3, 4, 5, 30):
        random = np.random.default_rng(seeds)
        first, second = random.normal(size=seeds) + 0.5, random.normal(size=seeds)
        result = compare_seeds({**dict(enumerate(first)), 99: 5.0}, dict(reversed([*enumerate(second)])))
        assert result == pytest.approx(stats.ttest_rel(first, second).pvalue)
    assert compare_seeds({1: 1.5, 2: 1.0}, {1: 1.0, 2: 0.5}) == pytest.approx(0)
    assert compare_seeds({1: 1.0, 3: 1.0}, {2: 1.0, 3: 1.0}) is None


def test_runs_are_averaged_window_by_window() -> None:
    first, second = run(1), run(2)
    averaged = mean_windows([first, second])
    assert averaged[7].nats == pytest.approx((first[7].nats + second[7].nats) / 2)
    assert averaged[7].lengths == first[7].lengths
    with pytest.raises(DataError, match="runs must be evaluated on the same windows to be averaged, got others"):
        mean_windows([first, second[1:]])
