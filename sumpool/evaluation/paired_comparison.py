"""Paired comparison of several systems on the same documents: differences, intervals, tests, wins and losses.

Every pair of systems is compared by the paired bootstrap and by approximate randomisation; the p-values of all pairs of
a slice are corrected by Holm's method.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from sumpool.errors import DataError
from sumpool.evaluation.config import EvaluationConfig, slices
from sumpool.evaluation.rouge import TYPES
from sumpool.evaluation.scores import DESCRIBED, SCORES, read_scores, verify_scores
from sumpool.evaluation.statistics import SEED, Floats, PairedTest, compare, holm
from sumpool.io.bounded import parse_json, read_regular


@dataclass(frozen=True)
class Difference:
    """Difference of two systems on a slice of the documents that both summarised.

    Attributes:
        slice: "all", or "low-leak" (references that are not copied from the document).
        system: Name of the system.
        other: Name of the system that it is compared with.
        documents: Number of documents of the slice.
        rouge: Mean difference of F1 with its 95 % interval and paired tests, by name.
        holm: p-value of the permutation test by name, corrected for the number of compared pairs.
    """

    slice: str
    system: str
    other: str
    documents: int
    rouge: Mapping[str, PairedTest]
    holm: Mapping[str, float]


def find_results(path: Path, split: str) -> Path:
    """Return the folder of the results of another evaluation.

    Args:
        path: This folder, or the folder of an evaluated run.
        split: Evaluated split of the run.

    Raises:
        DataError: If there are no results.
    """
    for folder in (path, path / "evaluation" / split):
        if (folder / SCORES).is_file():
            return folder
    raise DataError(
        f"{path} must contain the results of an evaluation ({SCORES}) or be a run with those of the same split, got "
        "neither; evaluate it first"
    )


def compare_results(folders: Mapping[str, Path], config: EvaluationConfig) -> tuple[Difference, ...]:
    """Compare folders of results pair by pair, document by document.

    Args:
        folders: Results by the name of the system; documents that any of them lacks are ignored.
        config: Number of resamples and bound of the slice low-leak.

    Raises:
        DataError: If the scores were computed with different settings, are damaged, or have no common documents.
    """
    (name, folder), *others = folders.items()
    for path in folders.values():
        verify_scores(path)
    settings = _settings(folder)
    for _, other in others:
        if (other_settings := _settings(other)) != settings:
            raise DataError(
                f"{other} must have been evaluated with the same settings, got {other_settings!r} and here {settings!r}"
            )
    leaks = {scored.id: scored.leak for scored in read_scores(folder / SCORES)}
    scores = {
        system: {
            scored.id: [scored.systems["model"].rouge[name].f1 for name in TYPES]
            for scored in read_scores(path / SCORES)
        }
        for system, path in folders.items()
    }
    common = [id for id in scores[name] if all(id in documents for documents in scores.values())]
    if not common:
        listed = ", ".join(str(other) for _, other in others)
        raise DataError(f"{listed} must contain documents that {folder} has too, got none")
    systems = {system: np.array([documents[id] for id in common]) for system, documents in scores.items()}
    members = slices(np.array([leaks[id] for id in common], dtype=np.float64), config.low_leak)
    pairs = list(combinations(systems, 2))
    return tuple(
        difference
        for slice_name, mask in members.items()
        for difference in compare_systems(
            slice_name, {system: values[mask] for system, values in systems.items()}, pairs, config.resamples
        )
    )


def compare_systems(
    slice_name: str, systems: Mapping[str, Floats], pairs: Sequence[tuple[str, str]], resamples: int
) -> list[Difference]:
    """Compare pairs of systems, each given as F1 (documents, types); all pairs share the resamples.

    Args:
        slice_name: Name of the slice that the documents are.
        systems: Scores of each system on the same documents.
        pairs: Names of the compared systems.
        resamples: Number of resamples of each test.
    """
    if not pairs:
        return []
    first, second = (np.concatenate([systems[name] for name in names], axis=1) for names in zip(*pairs, strict=True))
    tests = compare(first, second, resamples, SEED)  # (pairs * types)
    by_pair = [tests[start : start + len(TYPES)] for start in range(0, len(tests), len(TYPES))]
    corrected = [holm([test.permutation for test in column]) for column in zip(*by_pair, strict=True)]  # (types, pairs)
    return [
        Difference(
            slice=slice_name,
            system=system,
            other=other,
            documents=len(first),
            rouge=dict(zip(TYPES, pair_tests, strict=True)),
            holm=dict(zip(TYPES, p_values, strict=True)),
        )
        for (system, other), pair_tests, p_values in zip(pairs, by_pair, zip(*corrected, strict=True), strict=True)
    ]


def _settings(folder: Path) -> str:
    """Settings of ROUGE, without those of the baselines."""
    path = folder / DESCRIBED
    try:
        return str(parse_json(read_regular(path))["rouge"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(
            f"{folder} must contain the results of an evaluation, got: {error!r}; evaluate what is in it first"
        ) from error
