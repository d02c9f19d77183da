"""Distribution of the scores over documents, and the documents with the best and the worst summaries."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from sumpool.evaluation.rouge import TYPES
from sumpool.evaluation.scorer import ReferenceDocument, ScoredDocument
from sumpool.evaluation.scores import SCORES, read_scores

_RANKED_BY = ("rouge1", "rouge2", "rougeLsum")
"""Scores whose mean ranks documents."""


@dataclass(frozen=True)
class ExtremeDocument:
    """Document with one of the best or worst summaries.

    Attributes:
        id: ID of the document.
        rouge: F1 by name.
        summary: The summary.
        reference: The reference summary.
        document: Text of the document; None if unknown.
    """

    id: str
    rouge: Mapping[str, float]
    summary: str
    reference: str
    document: str | None


@dataclass(frozen=True)
class Distribution:
    """Scores of all documents.

    Attributes:
        rouge: F1 of the evaluated system on each document, by name.
        lead: F1 of LEAD on each document, by name; empty if it was not scored.
        words: Length of each summary, in words.
        best: Documents with the best summaries, the best first.
        worst: Documents with the worst summaries, the worst first.
    """

    rouge: Mapping[str, Sequence[float]]
    lead: Mapping[str, Sequence[float]]
    words: Sequence[int]
    best: Sequence[ExtremeDocument]
    worst: Sequence[ExtremeDocument]


def read_distribution(folder: Path, references: Iterable[ReferenceDocument], count: int) -> Distribution:
    """Read the scores in a folder of results.

    Args:
        folder: The folder.
        references: The documents with their references, for the texts of the extremes.
        count: Number of documents among the best, and among the worst; fewer if there are fewer documents.

    Raises:
        DataError: If the scores are damaged.
    """
    ids: list[str] = []
    words: list[int] = []
    rouge: dict[str, list[float]] = {name: [] for name in TYPES}
    lead: dict[str, list[float]] = {name: [] for name in TYPES}
    for scored in read_scores(folder / SCORES):
        ids.append(scored.id)
        words.append(scored.systems["model"].words)
        for name in TYPES:
            rouge[name].append(scored.systems["model"].rouge[name].f1)
            if "lead" in scored.systems:
                lead[name].append(scored.systems["lead"].rouge[name].f1)
    means = {id: fmean(rouge[name][index] for name in _RANKED_BY) for index, id in enumerate(ids)}
    ranked = sorted(ids, key=means.__getitem__, reverse=True)
    count = min(count, (len(ids) + 1) // 2)
    best, worst = ranked[:count], ranked[count:][::-1][:count]
    texts = _read_texts(folder, references, {*best, *worst})
    return Distribution(
        rouge=rouge,
        lead=lead if lead[TYPES[0]] else {},
        words=words,
        best=[texts[id] for id in best if id in texts],
        worst=[texts[id] for id in worst if id in texts],
    )


def _read_texts(folder: Path, references: Iterable[ReferenceDocument], ids: set[str]) -> dict[str, ExtremeDocument]:
    scores: dict[str, ScoredDocument] = {
        scored.id: scored for scored in read_scores(folder / SCORES) if scored.id in ids
    }
    return {
        reference.id: ExtremeDocument(
            id=reference.id,
            rouge={name: scores[reference.id].systems["model"].rouge[name].f1 for name in TYPES},
            summary=scores[reference.id].summary,
            reference=reference.reference,
            document=reference.document,
        )
        for reference in references
        if reference.id in scores
    }
