"""Measures of a language model on a running text: bits per character, shortening factor, lengths of segments.

Bits per character (BPC) is the negative log-likelihood of all scored tokens, which are characters, over their number.
The shortening factor is that of Nawrot et al. (2023): tokens per boundary. Windows are the units of the bootstrap and
of paired tests, as neighbouring characters depend on each other.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from sumpool.errors import DataError
from sumpool.evaluation.report import TitledTable
from sumpool.evaluation.statistics import Estimate, Floats, PairedTest, compare, estimate_ratio, holm
from sumpool.tasks.language_modeling.config import TextEvaluationConfig

_LONGEST_BAR: Final = 16
"""Lengths of segments with a count of their own in the table; longer ones share one."""

DIFFERENCE_COLUMNS = ("models", "BPC", "95 % interval", "t-test", "bootstrap", "randomised", "Holm", "fewer", "more")
"""Titles of the columns of `LanguageModelDifference.row`."""


@dataclass(frozen=True)
class ScoredWindow:
    """Scores of the predicted tokens of a window.

    Attributes:
        start: First token that the window reads.
        tokens: Predicted tokens.
        nats: Negative log-likelihood of these tokens.
        boundaries: Boundaries after their predecessors, the tokens that the predictions are made at.
        lengths: Number of segments that end there, by their length in tokens.
    """

    start: int
    tokens: int
    nats: float
    boundaries: int
    lengths: Mapping[int, int]


@dataclass(frozen=True)
class SegmentLengths:
    """Distribution of the lengths of segments, in tokens.

    Attributes:
        segments: Number of segments.
        mean: Mean length.
        deviation: Standard deviation.
        median: Median length.
        p90: 90th percentile.
        longest: Longest segment.
        counts: Segments by length.
    """

    segments: int
    mean: float
    deviation: float
    median: int
    p90: int
    longest: int
    counts: Mapping[int, int]

    def rows(self) -> list[list[str]]:
        """Return the rows of a table: length, segments, share in percent; long segments share the last row."""
        short = [(str(length), self.counts.get(length, 0)) for length in range(1, min(self.longest, _LONGEST_BAR) + 1)]
        long = sum(count for length, count in self.counts.items() if length > _LONGEST_BAR)
        rows = [*short, *([(f"{_LONGEST_BAR + 1}-{self.longest}", long)] if long else [])]
        return [[length, f"{count:,}", f"{100 * count / self.segments:.1f}"] for length, count in rows]


@dataclass(frozen=True)
class LanguageModelReport:
    """Results of the evaluation of a language model.

    Attributes:
        model: Name of the model.
        split: Split of the text.
        protocol: Windows of the text: `whole`, or `released` for streams with a cap.
        window: Tokens that a window reads.
        step: Tokens that a window predicts.
        windows: Number of windows.
        tokens: Predicted tokens.
        bpc: Bits per character, with a 95 % bootstrap interval over the windows.
        shortening_factor: Tokens per boundary, with a 95 % bootstrap interval over the windows; None without any.
        segments: Distribution of the lengths of segments; None without any.
        sample: Consecutive segments of the text, the last one unfinished.
    """

    model: str
    split: str
    protocol: str
    window: int
    step: int
    windows: int
    tokens: int
    bpc: Estimate
    shortening_factor: Estimate | None
    segments: SegmentLengths | None
    sample: tuple[str, ...] = ()

    def tables(self, name: str) -> list[TitledTable]:
        """Lay out the scores and the lengths of the segments of a model that is called by a name."""
        title = f"{name}, {self.split}, {self.protocol}"
        tables: list[TitledTable] = [(["", "", "95 % interval"], self.score_rows(), title, 1)]
        if self.segments:
            lengths = self.segments
            title = (
                f"segments: {lengths.segments:,}, mean length {lengths.mean:.2f}, standard deviation "
                f"{lengths.deviation:.2f}, median {lengths.median}, 90th percentile {lengths.p90}, longest "
                f"{lengths.longest:,}"
            )
            tables.append((["length", "segments", "%"], lengths.rows(), title, 1))
        return tables

    def score_rows(self) -> list[list[str]]:
        """Return the rows of the table of scores: name, value, interval."""
        rows = [["bits per character", f"{self.bpc.mean:.4f}", _interval(self.bpc, 4)]]
        if self.shortening_factor:
            factor = self.shortening_factor
            rows.append(["shortening factor", f"{factor.mean:.2f}", _interval(factor, 2)])
        return [*rows, ["characters", f"{self.tokens:,}", ""], ["windows", f"{self.windows:,}", ""]]


def score_language_model(
    model: str, split: str, config: TextEvaluationConfig, windows: Sequence[ScoredWindow], sample: Sequence[str] = ()
) -> LanguageModelReport:
    """Aggregate the scores of windows.

    Args:
        model: Name of the model.
        split: Split of the text.
        config: Settings of the windows and of the bootstrap.
        windows: Scores of each window; at least one.
        sample: Consecutive segments of the text.
    """
    tokens = [window.tokens for window in windows]
    boundaries = [window.boundaries for window in windows]
    return LanguageModelReport(
        model=model,
        split=split,
        protocol=config.protocol,
        window=config.window,
        step=config.step,
        windows=len(windows),
        tokens=sum(tokens),
        bpc=_ratio([bits(window.nats) for window in windows], tokens, config.resamples),
        shortening_factor=_ratio(tokens, boundaries, config.resamples) if any(boundaries) else None,
        segments=describe_lengths(window.lengths for window in windows),
        sample=tuple(sample),
    )


def describe_lengths(counts: Iterable[Mapping[int, int]]) -> SegmentLengths | None:
    """Describe the lengths of segments, given as numbers of segments by length; None without a segment."""
    total: Counter[int] = Counter()
    for part in counts:
        total.update(part)
    if not total.total():
        return None
    lengths, numbers = (np.array(column) for column in zip(*sorted(total.items()), strict=True))
    segments = int(numbers.sum())
    mean = float(lengths @ numbers / segments)
    ranks = numbers.cumsum()
    return SegmentLengths(
        segments=segments,
        mean=mean,
        deviation=math.sqrt(float((lengths - mean) ** 2 @ numbers / segments)),
        median=int(lengths[np.searchsorted(ranks, 0.5 * segments)]),
        p90=int(lengths[np.searchsorted(ranks, 0.9 * segments)]),
        longest=int(lengths[-1]),
        counts={int(length): int(number) for length, number in zip(lengths, numbers, strict=True)},
    )


def bits(nats: float) -> float:
    """Convert nats to bits."""
    return nats / math.log(2)


def _ratio(numerators: Sequence[float], denominators: Sequence[float], resamples: int) -> Estimate:
    return estimate_ratio(np.array(numerators, np.float64), np.array(denominators, np.float64), resamples)


def _interval(estimate: Estimate, digits: int) -> str:
    return f"{estimate.low:.{digits}f} to {estimate.high:.{digits}f}"


@dataclass(frozen=True)
class LanguageModelDifference:
    """Difference in bits per character of two language models on the same windows.

    Attributes:
        system: Name of the model.
        other: Name of the model that it is compared with.
        windows: Number of windows.
        bpc: Difference with its 95 % interval, tests, and the windows on which the model needs more bits (wins).
        t_test: p-value of the paired t-test over the windows.
        holm: p-value of the permutation test, corrected for the number of compared pairs.
    """

    system: str
    other: str
    windows: int
    bpc: PairedTest
    t_test: float | None
    holm: float

    def row(self) -> list[str]:
        """Return the row of a table: models, difference, interval, p-values, windows with fewer and more bits."""
        difference = self.bpc.difference
        tests = (self.t_test, self.bpc.bootstrap, self.bpc.permutation, self.holm)
        return [
            f"{self.system} - {self.other}",
            f"{difference.mean:+.4f}",
            f"{difference.low:+.4f} to {difference.high:+.4f}",
            *map(format_p_value, tests),
            f"{self.bpc.losses:,}",
            f"{self.bpc.wins:,}",
        ]


def format_p_value(p_value: float | None) -> str:
    """Format a p-value with four digits; a missing one as a dash."""
    if p_value is None:
        return "-"
    return f"{p_value:.4f}" if p_value >= 1e-4 else "<0.0001"


def compare_language_models(
    systems: Mapping[str, Sequence[ScoredWindow]], resamples: int
) -> tuple[LanguageModelDifference, ...]:
    """Compare language models pair by pair on the windows of one text.

    Args:
        systems: Scores of each model on all windows, in the same order.
        resamples: Resamples of the bootstrap and of approximate randomisation.

    Raises:
        DataError: If the models were scored on different windows.
    """
    # Bits of each window, in proportion to the mean number of characters of a window.
    values: dict[str, Floats] = {
        name: np.array([bits(window.nats) for window in windows]) / np.mean([window.tokens for window in windows])
        for name, windows in systems.items()
    }
    spans = {name: [(window.start, window.tokens) for window in windows] for name, windows in systems.items()}
    pairs = list(combinations(systems, 2))
    for system, other in pairs:
        if spans[system] != spans[other]:
            raise DataError(
                f"{other} must be evaluated on the windows of {system} to be compared, got others: give both the same "
                "text, vocabulary and evaluation settings"
            )
    tests = [compare(values[system][:, None], values[other][:, None], resamples)[0] for system, other in pairs]
    return tuple(
        LanguageModelDifference(
            system, other, len(spans[system]), test, paired_t_test(values[system] - values[other]), corrected
        )
        for (system, other), test, corrected in zip(
            pairs, tests, holm([test.permutation for test in tests]), strict=True
        )
    )


def compare_seeds(system: Mapping[int, float], other: Mapping[int, float]) -> float | None:
    """Compare the bits per character of two systems over their common seeds.

    Returns:
        p-value of the two-sided paired t-test; None for fewer than two common seeds.
    """
    seeds = sorted(system.keys() & other.keys())
    return paired_t_test(np.array([system[seed] - other[seed] for seed in seeds]))


def paired_t_test(differences: Floats) -> float | None:
    """Return the p-value of the two-sided t-test of paired differences; None for fewer than two."""
    freedom = len(differences) - 1
    if freedom < 1:
        return None
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    # Student's distribution of whole degrees of freedom is a finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4).
    angle = math.atan2(abs(float(differences.mean())), error * math.sqrt(freedom))
    term, inside = (math.cos(angle), angle) if freedom % 2 else (1.0, 0.0)
    for number in range(freedom % 2 + 1, freedom, 2):
        inside += math.sin(angle) * term
        term *= math.cos(angle) ** 2 * number / (number + 1)
    return 1 - inside * (2 / math.pi if freedom % 2 else 1)


def mean_windows(runs: Sequence[Sequence[ScoredWindow]]) -> list[ScoredWindow]:
    """Average the log-likelihoods of several runs, such as seeds, window by window; counts are those of the first.

    Raises:
        DataError: If the runs were scored on different windows.
    """
    first, *others = runs
    if any([window.start for window in first] != [window.start for window in windows] for windows in others):
        raise DataError("runs must be evaluated on the same windows to be averaged, got others: evaluate them again")
    nats = np.array([[window.nats for window in windows] for windows in runs]).mean(0)
    return [ScoredWindow(**{**vars(window), "nats": float(mean)}) for window, mean in zip(first, nats, strict=True)]
