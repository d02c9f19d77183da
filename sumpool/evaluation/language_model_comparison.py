"""Paired comparison of language models: on the windows of one text, and over seeds.

On one text the pairs are windows, compared by the t-test, the paired bootstrap and approximate randomisation. Over
seeds the pairs are runs with the same seed, compared by the t-test, as in Table 1 of Nawrot et al. (2023).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sumpool.errors import DataError
from sumpool.evaluation.language_modeling import ScoredWindow, bits
from sumpool.evaluation.statistics import SEED, Floats, PairedTest, compare, holm
from sumpool.evaluation.student import TTest, paired_t_test


@dataclass(frozen=True)
class LanguageModelDifference:
    """Difference in bits per character of two language models on the same windows.

    Attributes:
        system: Name of the model.
        other: Name of the model that it is compared with.
        windows: Number of windows.
        bpc: Difference with its 95 % interval, tests, and the windows on which the model needs more bits (wins).
        t_test: Paired t-test over the windows.
        holm: p-value of the t-test, corrected for the number of compared pairs.
    """

    system: str
    other: str
    windows: int
    bpc: PairedTest
    t_test: TTest
    holm: float

    def row(self) -> list[str]:
        """Return the row of a table: models, difference, interval, p-values, windows with fewer and more bits."""
        difference = self.bpc.difference
        tests = (self.t_test.p_value, self.holm, self.bpc.bootstrap, self.bpc.permutation)
        return [
            f"{self.system} - {self.other}",
            f"{difference.mean:+.4f}",
            f"{difference.low:+.4f} to {difference.high:+.4f}",
            *map(format_p_value, tests),
            f"{self.bpc.losses:,}",
            f"{self.bpc.wins:,}",
        ]


DIFFERENCE_COLUMNS = ("models", "BPC", "95 % interval", "t-test", "Holm", "bootstrap", "randomised", "fewer", "more")
"""Titles of the columns of `LanguageModelDifference.row`."""


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
    values = {name: _bits_per_character(windows) for name, windows in systems.items()}
    spans = {name: [(window.start, window.characters) for window in windows] for name, windows in systems.items()}
    pairs = list(combinations(systems, 2))
    for system, other in pairs:
        if spans[system] != spans[other]:
            raise DataError(
                f"{other} must be evaluated on the windows of {system} to be compared, got others: give both the same "
                "text, vocabulary and evaluation settings"
            )
    t_tests = [paired_t_test(values[system] - values[other]) for system, other in pairs]
    return tuple(
        LanguageModelDifference(
            system=system,
            other=other,
            windows=len(values[system]),
            bpc=compare(values[system][:, None], values[other][:, None], resamples, SEED)[0],
            t_test=t_test,
            holm=corrected,
        )
        for (system, other), t_test, corrected in zip(
            pairs, t_tests, holm([test.p_value for test in t_tests]), strict=True
        )
    )


def compare_seeds(system: Mapping[int, float], other: Mapping[int, float]) -> TTest | None:
    """Compare the bits per character of two systems over their common seeds by the t-test; None without any."""
    seeds = sorted(system.keys() & other.keys())
    return paired_t_test(np.array([system[seed] - other[seed] for seed in seeds])) if seeds else None


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


def _bits_per_character(windows: Sequence[ScoredWindow]) -> Floats:
    """Return the bits of each window, (windows,), in proportion to a window's mean number of characters."""
    characters = np.mean([window.characters for window in windows])
    values: Floats = np.array([bits(window.nats) for window in windows]) / characters
    return values
