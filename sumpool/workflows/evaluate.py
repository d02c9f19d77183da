"""`sumpool evaluate`: summaries beside references, LEAD and the oracle, in one table with intervals.

Every document is a line in `documents.jsonl` as soon as it is scored; `report.json` follows when all are.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from sumpool.data.sources._base import Example, Split
from sumpool.data.texts import Texts
from sumpool.documents import Document
from sumpool.errors import DataError, RecipeError
from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.paired_comparison import compare_results, find_results
from sumpool.evaluation.predictions import join
from sumpool.evaluation.report import EvaluationReport, ScoreAggregator
from sumpool.evaluation.scorer import Candidate, SummaryScorer
from sumpool.evaluation.scores import append_scores, open_scores, read_scores
from sumpool.inference.loading import LoadedModel, load_writer
from sumpool.interruption import Check, go_on
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.progress import Progress, Report, silent
from sumpool.workflows.summarize import write_summaries


@dataclass(frozen=True)
class Results:
    """Where the results of an evaluation go.

    Attributes:
        folder: Holds `documents.jsonl` and `report.json`; None is a folder beside what is evaluated.
        resume: Go on where an evaluation into the same folder stopped, instead of starting anew.
        against: Results of another evaluation of the same documents, to be compared with: their folder, or the run
            folder that has them; None compares with none.
    """

    folder: Path | None = None
    resume: bool = False
    against: Path | None = None


_USUAL = Results()


def evaluate_run(
    run: Path | None = None,
    split: Split = "test",
    *,
    overrides: Sequence[str] = (),
    limit: int | None = None,
    results: Results = _USUAL,
    report: Report = silent,
    check: Check = go_on,
) -> EvaluationReport:
    """Summarise a split of a run's data with its model, and score the summaries.

    Args:
        run: The run folder; None takes the newest one.
        split: Part of the data.
        overrides: Settings to change, each like `summarize.beams=1`.
        limit: Documents to take, evenly spread over the split; None takes all.
        results: Where they go; by default into `evaluation/<split>` in the run folder, anew.
        report: Called with progress.
        check: Called between documents; when it raises, what is done is kept.

    Raises:
        CheckpointError: If there is no model, or it is damaged.
        RecipeError: If a setting or the limit is wrong.
        DataError: If the prepared data is missing, or the results to resume are of another evaluation.
    """
    # 1. A model, and documents of its data.
    loaded = load_writer(run, overrides)
    recipe = loaded.recipe
    prepared = _documents_of(loaded)
    texts = Texts.open(prepared, split)
    numbers = _spread(len(texts), limit)
    if not numbers:
        raise DataError(f"{prepared / split} must hold documents to evaluate, got none; take another split")

    # 2. Each is summarised as it is asked for, unless it is done.
    def candidates(done: Set[str]) -> Iterator[Candidate]:
        rest = (example for example in map(texts.__getitem__, numbers) if example.id not in done)
        return _summarized(rest, loaded, check)

    task = _Task(
        system=recipe.name,
        folder=loaded.folder / "evaluation" / split,
        documents=len(numbers),
        split=split,
        candidates=candidates,
        identity={
            "model": _digest(loaded.folder / "model.safetensors"),
            "data": _digest(prepared / split / "texts.jsonl"),
            "documents": f"{len(numbers)} of {split}",
            "decoding": recipe.summarize.model_dump_json(exclude={"batch_tokens"}),
        },
    )
    # 3. Figures of each document, then the table.
    return _evaluate(task, recipe.evaluate, results, report, check)


def evaluate_predictions(
    predictions: Path,
    references: Path,
    *,
    config: EvaluationConfig | None = None,
    skip_missing: bool = False,
    results: Results = _USUAL,
    report: Report = silent,
    check: Check = go_on,
) -> EvaluationReport:
    """Score summaries from anywhere.

    Args:
        predictions: JSON lines (.gz and .zst too) with `id` and `summary`, or names like these.
        references: JSON lines with `id`, `summary`, and `document` where the baselines are wanted.
        config: Settings; None takes the usual ones.
        skip_missing: Whether references without a summary are left out instead of an error.
        results: Where they go; by default into `<predictions>-evaluation` beside the predictions, anew.
        report: Called with progress.
        check: Called between documents; when it raises, what is done is kept.

    Raises:
        DataError: If a row cannot be used, the files do not fit together, or the results to resume are of another
            evaluation.
    """
    # 1. Both files are read and joined: whatever is wrong in them shows now.
    joined = join(predictions, references, skip_missing=skip_missing)
    for note in joined.notes:
        report(Progress("evaluate", note=note))
    name = predictions.name.split(".")[0]
    task = _Task(
        system=name,
        folder=predictions.with_name(f"{name}-evaluation"),
        documents=joined.documents,
        split="",
        candidates=joined.candidates,
        identity={"summaries": _digest(predictions), "references": _digest(references)},
        notes=joined.notes,
    )
    # 2. Figures of each document, then the table.
    return _evaluate(task, config or EvaluationConfig(), results, report, check)


@dataclass(frozen=True)
class _Task:
    """What is evaluated.

    Attributes:
        system: What the table calls it.
        folder: Where its results go unless somebody says otherwise.
        documents: How many there are.
        split: Part of a run's data that they are; empty where they are none.
        candidates: Gives the documents whose ids are not among those given.
        identity: What the figures depend on, to be compared before they are added to.
        notes: What a reader should know.
    """

    system: str
    folder: Path
    documents: int
    split: str
    candidates: Callable[[Set[str]], Iterator[Candidate]]
    identity: Mapping[str, str]
    notes: Sequence[str] = ()


def _documents_of(loaded: LoadedModel) -> Path:
    """Find the prepared data of a model; one that was imported has none unless the settings name it."""
    data = loaded.recipe.data
    if data.source is None and data.prepared is None:
        raise RecipeError(
            f"data.prepared must be a folder of prepared data, got nothing: {loaded.folder} was imported and has no "
            "documents of its own; name some with --set data.prepared=FOLDER"
        )
    return loaded.recipe.prepared_folder


def _evaluate(
    task: _Task, config: EvaluationConfig, results: Results, report: Report, check: Check
) -> EvaluationReport:
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
    found = scores.report(config, {"model": task.system, **scorer.baselines}, scorer.signature, task.notes)
    if other:
        found = replace(found, differences=compare_results(folder, other, config))
    with disk_errors(folder):
        replace_file(folder / "report.json", found.to_json().encode())
    return found


def _summarized(examples: Iterable[Example], loaded: LoadedModel, check: Check) -> Iterator[Candidate]:
    """Summarise examples in their order; some hundred wait beside the model at most."""
    waiting: deque[Example] = deque()

    def documents() -> Iterator[Document]:
        for example in examples:
            waiting.append(example)
            yield Document(example.id, example.document)

    for summary in write_summaries(documents(), loaded, check=check):
        example = waiting.popleft()
        assert example.id == summary.id, "summaries come in the order of the documents"
        share_read = summary.tokens_read / summary.tokens_total if summary.tokens_total else 1.0
        yield Candidate(example.id, summary.summary, example.summary, example.document, share_read)


def _spread(documents: int, limit: int | None) -> list[int]:
    """Choose documents evenly, as their order often has a meaning (the oldest first)."""
    if limit is not None and limit < 1:
        raise RecipeError(f"the limit must be at least 1 document, got {limit}")
    taken = documents if limit is None else min(limit, documents)
    return [place * documents // taken for place in range(taken)]


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path} must be a file that can be read, got: {error}") from error
