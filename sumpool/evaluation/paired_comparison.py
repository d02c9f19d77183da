"""Paired comparison of two evaluations of the same documents: mean differences, intervals and tests."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sumpool.errors import DataError
from sumpool.evaluation.config import EvaluationConfig, slices
from sumpool.evaluation.rouge import TYPES
from sumpool.evaluation.scorer import ScoredDocument
from sumpool.evaluation.scores import DESCRIBED, SCORES, read_scores
from sumpool.evaluation.statistics import SEED, PairedTest, compare

_COLUMNS = ("slice", "ROUGE-1", "ROUGE-2", "ROUGE-L", "ROUGE-Lsum", "documents", "p (1 / Lsum)")


@dataclass(frozen=True)
class Difference:
    """Difference of two systems on a slice of the documents that both summarised.

    Attributes:
        slice: "all", or "low-leak" (references that are not copied from the document).
        documents: Number of documents of the slice.
        rouge: Mean difference of F1 with its 95 % interval and paired tests, by name.
    """

    slice: str
    documents: int
    rouge: Mapping[str, PairedTest]


def find_results(against: Path | None, split: str) -> Path | None:
    """Return the folder of the results of another evaluation.

    Args:
        against: That folder, or the folder of an evaluated run; None compares with nothing.
        split: Evaluated split of the run.

    Raises:
        DataError: If there are no results.
    """
    if against is None:
        return None
    for folder in (against, against / "evaluation" / split):
        if (folder / SCORES).is_file():
            return folder
    raise DataError(
        f"{against} must contain the results of an evaluation ({SCORES}) or be a run with those of the same split, got "
        "neither; evaluate it first"
    )


def compare_results(folder: Path, other: Path, config: EvaluationConfig) -> tuple[Difference, ...]:
    """Compare two folders of results, document by document.

    Args:
        folder: Results of a system.
        other: Results of another system; documents that only one of them has are ignored.
        config: Number of resamples and bound of the slice low-leak.

    Raises:
        DataError: If the scores were computed with different settings, or there are no common documents.
    """
    settings, other_settings = _settings(folder), _settings(other)
    if settings != other_settings:
        raise DataError(
            f"{other} must have been evaluated with the same settings, got {other_settings!r} and here {settings!r}"
        )
    known = {scored.id: _f1(scored) for scored in read_scores(other / SCORES)}
    pairs = [
        (_f1(scored), known[scored.id], scored.leak) for scored in read_scores(folder / SCORES) if scored.id in known
    ]
    if not pairs:
        raise DataError(f"{other} must contain documents that {folder} has too, got none")
    # (documents, types) twice, (documents); None becomes NaN
    system, baseline, leaks = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    return tuple(
        Difference(
            name,
            int(members.sum()),
            dict(zip(TYPES, compare(system[members], baseline[members], config.resamples, SEED), strict=True)),
        )
        for name, members in slices(leaks, config.low_leak).items()
    )


def difference_table(differences: Sequence[Difference]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return column titles and cells; differences of ROUGE times 100."""
    return _COLUMNS, [_cells(difference) for difference in differences]


def _f1(scored: ScoredDocument) -> list[float]:
    return [scored.systems["model"].rouge[name].f1 for name in TYPES]


def _settings(folder: Path) -> str:
    path = folder / DESCRIBED
    try:
        return str(json.loads(path.read_bytes())["settings"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(
            f"{folder} must contain the results of an evaluation, got: {error!r}; evaluate what is in it first"
        ) from error


def _cells(difference: Difference) -> tuple[str, ...]:
    means = [
        f"{100 * test.difference.mean:+.1f} [{100 * test.difference.low:+.1f}, {100 * test.difference.high:+.1f}]"
        for test in difference.rouge.values()
    ]
    p_values = [difference.rouge[name].permutation for name in ("rouge1", "rougeLsum")]
    return difference.slice, *means, f"{difference.documents:,}", " / ".join(f"{p:.3f}" for p in p_values)
