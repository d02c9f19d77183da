"""Evaluation task: score every document once, resumably, then report."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from sumpool.errors import DataError
from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.paired_comparison import compare_results, find_results
from sumpool.evaluation.report import EvaluationReport, ScoreAggregator
from sumpool.evaluation.scorer import Candidate, SummaryScorer
from sumpool.evaluation.scores import append_scores, open_scores, read_scores
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.manifest import FileDigest
from sumpool.progress import Check, Progress, Report

REPORT = "report.json"


@dataclass(frozen=True)
class Results:
    """Destination of the results of an evaluation.

    Attributes:
        folder: Folder of `documents.jsonl` and `report.json`; None takes a folder beside what is evaluated.
        resume: Whether to continue an interrupted evaluation into the same folder.
        against: Results of another evaluation of the same documents to compare with: their folder, or the run folder
            that has them; None compares with none.
    """

    folder: Path | None = None
    resume: bool = False
    against: Path | None = None


@dataclass(frozen=True)
class EvaluationTask:
    """Summaries to evaluate.

    Attributes:
        system: Name of the summaries in the report.
        folder: Default folder of the results.
        documents: Number of documents.
        split: Split of a run's data that the documents are; empty for others.
        candidates: Returns the documents whose ids are not among the given ones, with their summaries.
        identity: What the scores depend on, compared when an evaluation is resumed.
        notes: Notes of the report.
    """

    system: str
    folder: Path
    documents: int
    split: str
    candidates: Callable[[Set[str]], Iterator[Candidate]]
    identity: Mapping[str, str]
    notes: Sequence[str] = ()


def evaluate_task(
    task: EvaluationTask, config: EvaluationConfig, results: Results, report: Report, check: Check
) -> EvaluationReport:
    """Score the documents that have no scores yet, and report on all.

    Args:
        task: The summaries.
        config: Settings of the scores.
        results: Destination of the results.
        report: Called with progress.
        check: Called between documents; when it raises, the scores so far are kept.

    Raises:
        DataError: If the results to resume or to compare with belong to another evaluation, or are damaged.
        ResourceError: If the disk is full or fails.
    """
    folder = results.folder or task.folder
    other = find_results(results.against, task.split)
    scorer = SummaryScorer(config)
    scores = ScoreAggregator()
    done = set()
    with open_scores(folder, {**task.identity, "settings": scorer.signature}, resume=results.resume) as file:
        for scored in read_scores(file.path):
            scores.add(scored)
            done.add(scored.id)
        report(Progress("evaluate", len(scores), task.documents))
        for candidate in task.candidates(done):
            scored = scorer.score(candidate)
            append_scores(file, scored)
            scores.add(scored)
            report(Progress("evaluate", len(scores), task.documents))
            check()
    evaluation = scores.report(config, {"model": task.system, **scorer.baselines}, scorer.signature, task.notes)
    if other:
        evaluation = replace(evaluation, differences=compare_results(folder, other, config))
    with disk_errors(folder):
        replace_file(folder / REPORT, evaluation.to_json().encode())
    return evaluation


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of an input, as a part of an identity.

    Raises:
        DataError: If the file cannot be read.
    """
    try:
        return FileDigest.of(path).sha256
    except OSError as error:
        raise DataError(f"{path} must be a file that can be read, got: {error}") from error
