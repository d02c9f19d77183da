"""Paired comparison of systems on the same documents: differences, intervals, tests, wins and losses.

Pairs of systems are compared by the paired bootstrap and by approximate randomisation; the p-values of all pairs of
a slice are corrected by Holm's method.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sumpool.errors import DataError
from sumpool.evaluation.rouge import TYPES
from sumpool.evaluation.scorer import ScoredDocument
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


def read_common(folders: Mapping[str, Path]) -> dict[str, list[ScoredDocument]]:
    """Read the scores of the documents that every system summarised.

    Args:
        folders: Results by the name of the system.

    Returns:
        By ID, the scores of each system in the order of the folders.

    Raises:
        DataError: If the scores were computed with different settings or from different documents, are damaged, or
            have no common documents.
    """
    first, *others = folders.values()
    for path in folders.values():
        verify_scores(path)
    settings = _settings(first)
    common = {scored.id: [scored] for scored in read_scores(first / SCORES)}
    for number, other in enumerate(others, 2):
        if (other_settings := _settings(other)) != settings:
            raise DataError(
                f"{other} must have been evaluated with the same settings, got {other_settings!r} and here {settings!r}"
            )
        for scored in read_scores(other / SCORES):
            if scored.id in common:
                common[scored.id].append(replace(scored, systems={"model": scored.systems["model"]}))
        common = {id: systems for id, systems in common.items() if len(systems) == number}
        if not common:
            raise DataError(f"{other} must contain documents that {first} has too, got none")
    for id, systems in common.items():
        lengths = {scored.document_words for scored in systems if scored.document_words is not None}
        if len(lengths) > 1:
            listed = " and ".join(map(str, sorted(lengths)))
            raise DataError(f"all systems must have summarised the same documents, got {id} with {listed} words")
    return common


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
