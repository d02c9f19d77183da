"""Two evaluations of the same documents: by how much one is above the other, and how sure that is."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sumpool.errors import DataError
from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.rouge import TYPES
from sumpool.evaluation.scorer import ScoredDocument
from sumpool.evaluation.scores import DESCRIBED, SCORES, read_scores
from sumpool.evaluation.slices import slices
from sumpool.evaluation.statistics import SEED, PairedTest, compare

_TITLES = ("slice", "documents", "ROUGE-1", "ROUGE-2", "ROUGE-L", "ROUGE-Lsum", "p (1 / Lsum)")


@dataclass(frozen=True)
class Difference:
    """How much a system is above another one on a slice of the documents that both summarised.

    Attributes:
        slice: "all", or "low-leak": references that were not copied from the document.
        documents: Documents of the slice.
        rouge: Mean difference of F1 with its 95 % interval and paired tests, by name.
    """

    slice: str
    documents: int
    rouge: Mapping[str, PairedTest]


def find_results(against: Path | None, split: str) -> Path | None:
    """Find the results of another evaluation, in a folder or in that of the run which has them.

    Raises:
        DataError: If there are none.
    """
    if against is None:
        return None
    for folder in (against, against / "evaluation" / split):
        if (folder / SCORES).is_file():
            return folder
    raise DataError(
        f"{against} must hold the results of an evaluation ({SCORES}) or be a run with those of the same split, got "
        "neither; evaluate it first"
    )


def differences(folder: Path, other: Path, config: EvaluationConfig) -> tuple[Difference, ...]:
    """Compare two folders of results, document by document.

    Args:
        folder: Results of a system.
        other: Those of another one; documents that only one of them has are passed over.
        config: Resamples, and what is low-leak.

    Raises:
        DataError: If the figures were made with other settings, or there is no document that both have.
    """
    ours, theirs = (_settings(each) for each in (folder, other))
    if ours != theirs:
        raise DataError(f"{other} must have been evaluated with the same settings, got {theirs!r} and here {ours!r}")
    known = {scored.id: _f1(scored) for scored in read_scores(other / SCORES)}
    pairs = [
        (_f1(scored), known[scored.id], scored.leak) for scored in read_scores(folder / SCORES) if scored.id in known
    ]
    if not pairs:
        raise DataError(f"{other} must hold documents that {folder} has too, got none")
    # (documents, types) twice, (documents); None becomes NaN
    system, rival, leaks = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    return tuple(
        Difference(
            title,
            int(members.sum()),
            dict(zip(TYPES, compare(system[members], rival[members], config.resamples, SEED), strict=True)),
        )
        for title, members in slices(leaks, config.low_leak).items()
    )


def difference_table(found: Sequence[Difference]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Titles and cells as the terminal shows them: differences of ROUGE times 100."""
    return _TITLES, [_cells(difference) for difference in found]


def _f1(scored: ScoredDocument) -> list[float]:
    return [scored.systems["model"].rouge[name].f1 for name in TYPES]


def _settings(folder: Path) -> str:
    path = folder / DESCRIBED
    try:
        return str(json.loads(path.read_bytes())["settings"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(
            f"{folder} must hold the results of an evaluation, got: {error!r}; evaluate what is in it first"
        ) from error


def _cells(difference: Difference) -> tuple[str, ...]:
    means = [
        f"{100 * each.difference.mean:+.1f} [{100 * each.difference.low:+.1f}, {100 * each.difference.high:+.1f}]"
        for each in difference.rouge.values()
    ]
    tested = [difference.rouge[name].permutation for name in ("rouge1", "rougeLsum")]
    return difference.slice, f"{difference.documents:,}", *means, " / ".join(f"{p:.3f}" for p in tested)
