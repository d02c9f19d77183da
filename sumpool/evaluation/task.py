"""Evaluation of systems: score every document of each once, resumably, then make one table."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from sumpool.errors import DataError, RecipeError
from sumpool.evaluation.report import (
    EXTREMES,
    EvaluationReport,
    ScoreAggregator,
    read_extremes,
    to_csv,
    to_html,
    to_latex,
)
from sumpool.evaluation.rouge import EqualLength, EvaluationConfig
from sumpool.evaluation.scorer import Candidate, ReferenceDocument, SummaryScorer
from sumpool.evaluation.scores import (
    LINE,
    finish_results,
    locked_results,
    open_scores,
    read_common,
    read_scores,
)
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.manifest import FileDigest
from sumpool.io.replaceable import require_writable
from sumpool.progress import Check, Progress, Report

_UNSAFE = re.compile(r"[^\w.-]")
"""Characters of a name that its folder lacks."""


@dataclass(frozen=True)
class Results:
    """Destination of the results of an evaluation, and what its table shows.

    Attributes:
        folder: Folder of `documents.jsonl` and `report.json`, replaced when all documents are scored, or of such a
            folder per system if there are several; None takes a folder beside what is evaluated.
        resume: Whether to continue an interrupted evaluation into the same folder.
        against: Row that the others are compared with, a system or a baseline; empty takes the first system.
        equal_length: Length that all summaries of a document are cut to in the table; None takes whole summaries.
        html: File for the report as HTML; None writes none.
        latex: File for the report as a LaTeX table; None writes none.
        csv: File for the report as CSV; None writes none.
    """

    folder: Path | None = None
    resume: bool = False
    against: str = ""
    equal_length: EqualLength | None = None
    html: Path | None = None
    latex: Path | None = None
    csv: Path | None = None


IN_THE_RUN = Results()
"""Results beside what is evaluated, from the beginning."""


@dataclass(frozen=True)
class EvaluationTask:
    """Summaries of a system to evaluate.

    Attributes:
        system: Name of the system in the report.
        folder: Default folder of the results.
        documents: Number of documents.
        candidates: Returns the documents whose ids are not among the given ones, with their summaries; None takes the
            scores in the folder, which are of an earlier evaluation.
        references: Returns all documents with their references, in the same order.
        identity: What the scores depend on, compared when an evaluation is resumed.
        notes: Notes of the report.
    """

    system: str
    folder: Path
    documents: int
    candidates: Callable[[Set[str]], Iterator[Candidate]] | None
    references: Callable[[], Iterator[ReferenceDocument]]
    identity: Mapping[str, str]
    notes: Sequence[str] = ()


def evaluate_tasks(
    tasks: Sequence[EvaluationTask], config: EvaluationConfig, results: Results, report: Report, check: Check
) -> EvaluationReport:
    """Score the documents that have no scores yet, system by system, and make one table of all.

    Args:
        tasks: The systems, with different names; the first is scored here, and its documents are those of the table.
        config: Settings of the scores.
        results: Destination of the results.
        report: Called with progress.
        check: Called between documents; when it raises, the scores so far are kept.

    Raises:
        RecipeError: If the folder of the results holds anything else or another process writes it, a file cannot be
            written, or there is no row to compare with.
        DataError: If the results to resume or to compare with belong to another evaluation, or are damaged.
        ResourceError: If the disk is full or fails.
    """
    require_writable({"--html": results.html, "--latex": results.latex, "--csv": results.csv})
    chosen = results.folder
    folders = {task.system: (chosen if task.candidates and chosen else task.folder) for task in tasks}
    if chosen and len(tasks) > 1:  # folders of several systems are numbered
        numbered = ((number, task.system) for number, task in enumerate(tasks, 1) if task.candidates)
        folders |= {system: chosen / f"{number}-{_UNSAFE.sub('_', system)}" for number, system in numbered}
    if len({folder.resolve() for folder in folders.values()}) < len(tasks):
        listed = ", ".join(map(str, folders.values()))
        raise RecipeError(f"systems must have different folders of results, got {listed}; add --out DIR")
    # 1. Score each system by itself.
    for task in tasks:
        if task.candidates:
            evaluation = _score(task, folders[task.system], config, results, report, check)
    # 2. Make the table of all.
    if len(tasks) > 1 or results.against or results.equal_length:
        evaluation = _table(tasks, folders, config, results, check)
    # 3. Write it as HTML, LaTeX and CSV where a file is given.
    texts: list[tuple[Path, str]] = []
    if results.html:
        first = tasks[0]
        extremes = read_extremes(folders[first.system], first.references(), EXTREMES)
        texts.append((results.html, to_html(evaluation, *extremes, config, first.identity, [*folders])))
    if results.latex:
        texts.append((results.latex, to_latex(evaluation)))
    if results.csv:
        texts.append((results.csv, to_csv(evaluation)))
    for path, text in texts:
        with disk_errors(path):
            replace_file(path, text.encode(errors="replace"))
    return evaluation


def _score(
    task: EvaluationTask,
    folder: Path,
    config: EvaluationConfig,
    results: Results,
    report: Report,
    check: Check,
) -> EvaluationReport:
    """Score the documents of a system that have no scores yet, and write its folder of results."""
    assert task.candidates, "others are scored already"
    with locked_results(folder):
        scorer = SummaryScorer(config)
        scores = ScoreAggregator()
        identity = {**task.identity, "settings": scorer.signature, "rouge": scorer.rouge.signature}
        with open_scores(folder, identity, resume=results.resume) as file:
            for scored in read_scores(file.path):
                scores.add(scored)
            report(Progress("evaluate", len(scores), task.documents))
            for candidate in task.candidates(frozenset(scores.ids)):
                scored = scorer.score(candidate)
                file.append(LINE.dump_json(scored).decode())
                scores.add(scored)
                report(Progress("evaluate", len(scores), task.documents))
                check()
        shown = {"model": task.system, **scorer.baselines}
        evaluation = scores.report(config, shown, scorer.signature, task.notes)
        finish_results(folder, evaluation.to_json(), evaluation.documents)
    return evaluation


def _table(
    tasks: Sequence[EvaluationTask],
    folders: Mapping[str, Path],
    config: EvaluationConfig,
    results: Results,
    check: Check,
) -> EvaluationReport:
    """Make a table of several systems, or of summaries of equal length, from finished results."""
    first, *others = tasks
    common = read_common(folders)
    keys = [f"system {number}" for number in range(2, len(tasks) + 1)]
    scorer = SummaryScorer(config, results.equal_length)
    scores, notes = ScoreAggregator(), list[str]()
    if results.equal_length:
        for reference in first.references():
            check()
            if systems := common.get(reference.id):
                texts = {key: scored.summary for key, scored in zip(keys, systems[1:], strict=True)}
                scores.add(scorer.score(Candidate(reference, systems[0].summary), texts))
        length = {"shortest": "the shortest summary", "references": "the reference"}[results.equal_length]
        notes += [f"summaries, but for the oracle's, are cut to as many words as {length} of the document has"]
    else:
        for systems in common.values():
            metrics = {key: scored.systems["model"] for key, scored in zip(keys, systems[1:], strict=True)}
            merged = replace(systems[0], systems={**systems[0].systems, **metrics})
            scores.add(replace(merged, share_read=None, mode="") if others else merged)
    if len(common) < first.documents:
        notes.append(f"{first.documents - len(common)} of {first.documents} documents lack a summary of some system")
    shown = {"model": first.system} | {key: task.system for key, task in zip(keys, others, strict=True)}
    own_notes = dict.fromkeys(note for task in tasks for note in task.notes)
    return scores.report(config, shown | scorer.baselines, scorer.signature, (*own_notes, *notes), results.against)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of an input, as a part of an identity.

    Raises:
        DataError: If the file cannot be read.
    """
    try:
        return FileDigest.of(path).sha256
    except OSError as error:
        raise DataError(f"{path} must be a file that can be read, got: {error}") from error
