"""Evaluation task: score every document once, resumably, then report."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from sumpool.errors import DataError, RecipeError
from sumpool.evaluation.bertscore import BertScorer
from sumpool.evaluation.config import BASELINES, EvaluationConfig
from sumpool.evaluation.html_report import EXTREMES, read_distribution, to_html
from sumpool.evaluation.paired_comparison import compare_results, find_results
from sumpool.evaluation.report import EvaluationReport, ScoreAggregator
from sumpool.evaluation.rouge import TOKENIZERS
from sumpool.evaluation.scorer import EQUAL_LENGTH, Candidate, ReferenceDocument, SummaryScorer
from sumpool.evaluation.scores import (
    append_scores,
    finish_results,
    incomplete_folder,
    locked_results,
    open_scores,
    read_scores,
)
from sumpool.evaluation.tables import to_csv, to_latex
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.manifest import FileDigest
from sumpool.io.replaceable import require_unlisted
from sumpool.progress import Check, Progress, Report

_CHECK_INTERVAL = 1000
"""References read between two calls of `check`."""


@dataclass(frozen=True)
class Results:
    """Destination of the results of an evaluation.

    Attributes:
        folder: Folder of `documents.jsonl` and `report.json`, replaced when all documents are scored; None takes a
            folder beside what is evaluated.
        resume: Whether to continue an interrupted evaluation into the same folder.
        against: Results of other evaluations of the same documents to compare with: their folders, or the run folders
            that have them.
        html: File for the report as HTML; None writes none.
        latex: File for the report as a LaTeX table; None writes none.
        csv: File for the report as CSV; None writes none.
    """

    folder: Path | None = None
    resume: bool = False
    against: Sequence[Path] = ()
    html: Path | None = None
    latex: Path | None = None
    csv: Path | None = None

    def require_writable_files(self) -> None:
        """Check the files before documents are scored.

        Raises:
            RecipeError: If a file is a folder or a file of a run, of prepared data and the like, or its folder is
                missing.
        """
        for path in filter(None, (self.html, self.latex, self.csv)):
            if path.is_dir() or not path.parent.is_dir():
                raise RecipeError(f"{path} must be a file in an existing folder, got none; make the folder first")
            require_unlisted(path)


@dataclass(frozen=True)
class EvaluationTask:
    """Summaries to evaluate.

    Attributes:
        system: Name of the summaries in the report.
        folder: Default folder of the results.
        documents: Number of documents.
        split: Split of a run's data that the documents are; empty for others.
        candidates: Returns the documents whose ids are not among the given ones, with their summaries.
        references: Returns all documents with their references, in the same order.
        identity: What the scores depend on, compared when an evaluation is resumed.
        notes: Notes of the report.
    """

    system: str
    folder: Path
    documents: int
    split: str
    candidates: Callable[[Set[str]], Iterator[Candidate]]
    references: Callable[[], Iterator[ReferenceDocument]]
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
        RecipeError: If the folder of the results holds anything else or another process writes it, a file cannot be
            written, or the model of a metric is missing.
        DataError: If the results to resume or to compare with belong to another evaluation, or are damaged.
        ResourceError: If the disk is full or fails.
    """
    folder = results.folder or task.folder
    results.require_writable_files()
    against = [find_results(path, task.split) for path in results.against]
    bert_scorer = _load_bert_scorer(config)
    with locked_results(folder):
        # 1. Score the documents that have no scores yet.
        scorer = SummaryScorer(config, _mean_reference_words(task, config, check), bert_scorer)
        scores = ScoreAggregator()
        identity = {**task.identity, "settings": scorer.signature, "rouge": scorer.rouge.signature}
        with open_scores(folder, identity, resume=results.resume) as file:
            for scored in read_scores(file.path):
                scores.add(scored)
            report(Progress("evaluate", len(scores), task.documents))
            for candidate in task.candidates(frozenset(scores.ids)):
                scored = scorer.score(candidate)
                append_scores(file, scored)
                scores.add(scored)
                report(Progress("evaluate", len(scores), task.documents))
                check()
        # 2. Report on all, and compare them with other results.
        names, notes = _add_lead_as_long_as_summaries(scores, task, config, scorer, check)
        shown = {"model": task.system, **names}
        evaluation = scores.report(config, shown, scorer.signature, (*task.notes, *notes))
        if against:
            others = [_system_name(path) for path in against]
            if len({task.system, *others}) <= len(others):  # names repeat
                others = list(map(str, against))
            systems = {task.system: incomplete_folder(folder), **dict(zip(others, against, strict=True))}
            evaluation = replace(evaluation, differences=compare_results(systems, config))
        finish_results(folder, evaluation.to_json(), evaluation.documents)
        # 3. Write the report as HTML, LaTeX and CSV where a file is given.
        texts: list[tuple[Path, str]] = []
        if results.html:
            distribution = read_distribution(folder, task.references(), EXTREMES)
            texts.append((results.html, to_html(evaluation, distribution, config, task.identity)))
        if results.latex:
            texts.append((results.latex, to_latex(evaluation)))
        if results.csv:
            texts.append((results.csv, to_csv(evaluation)))
        for path, text in texts:
            with disk_errors(path):
                replace_file(path, text.encode(errors="replace"))
    return evaluation


def _load_bert_scorer(config: EvaluationConfig) -> BertScorer | None:
    if "bertscore" not in config.metrics:
        return None
    if config.bertscore_model is None:
        raise RecipeError(
            "evaluate.bertscore_model must be the folder of a model of transformers for the metric bertscore, got "
            "nothing; add --set evaluate.bertscore_model=FOLDER"
        )
    return BertScorer(config.bertscore_model, config.bertscore_layer)


def _mean_reference_words(task: EvaluationTask, config: EvaluationConfig, check: Check) -> int:
    """Mean length of the references in words; 0 if no baseline is as long."""
    if "lead_references" not in config.baselines:
        return 0
    count_words = TOKENIZERS[config.tokenizer](stemmer=False).count_words
    words = 0
    for number, reference in enumerate(task.references(), 1):
        if number % _CHECK_INTERVAL == 0:
            check()
        words += count_words(reference.reference)
    return max(1, round(words / max(task.documents, 1)))


def _add_lead_as_long_as_summaries(
    scores: ScoreAggregator, task: EvaluationTask, config: EvaluationConfig, scorer: SummaryScorer, check: Check
) -> tuple[dict[str, str], list[str]]:
    """Score the baseline LEAD at the mean length of the summaries, which is known once all are scored.

    Returns:
        Displayed names of the baselines in the order of tables, and notes on their lengths.
    """
    names = dict(scorer.baselines)
    if not scores.has_documents:
        return names, []
    notes = []
    if "lead_references" in config.baselines:
        notes.append(f"LEAD-{scorer.reference_words} is as long as the references on average")
    length = round(scores.mean_words)
    equal = [name for name in names.values() if name.endswith(EQUAL_LENGTH)]
    if equal:
        notes.append(f"baselines of equal length have as many words as the summary of {task.system} of each document")
    if "lead_summaries" in config.baselines and length and names.get("lead") not in equal:
        notes.append(f"LEAD-{length} is as long as the summaries of {task.system} on average")
        if f"LEAD-{length}" not in names.values():
            metrics = {}
            for reference in task.references():
                check()
                if reference.id in scores.ids and reference.document is not None:
                    metrics[reference.id] = scorer.score_lead(reference.document, reference.reference, length)
            scores.add_system("lead_summaries", metrics)
            names["lead_summaries"] = f"LEAD-{length}"
    return {name: names[name] for name in BASELINES if name in names}, notes


def _system_name(folder: Path) -> str:
    """Name of the run that a folder of results lies in, or of the folder."""
    run = folder.resolve().parent.parent
    return run.name if folder.resolve().parent.name == "evaluation" else folder.resolve().name


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of an input, as a part of an identity.

    Raises:
        DataError: If the file cannot be read.
    """
    try:
        return FileDigest.of(path).sha256
    except OSError as error:
        raise DataError(f"{path} must be a file that can be read, got: {error}") from error
