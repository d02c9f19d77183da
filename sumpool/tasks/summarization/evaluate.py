"""Evaluation of summaries: of a run's data by its model, or from anywhere."""

from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import tee
from pathlib import Path
from typing import Any

from sumpool.data.sources._base import Example, Split
from sumpool.data.texts import Texts
from sumpool.documents.document import Document
from sumpool.errors import DataError, RecipeError
from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.predictions import join
from sumpool.evaluation.report import EvaluationReport
from sumpool.evaluation.scorer import Candidate, ReferenceDocument
from sumpool.evaluation.task import EvaluationTask, Results, evaluate_task, file_sha256
from sumpool.inference.loading import LoadedModel, load_for_generation
from sumpool.inference.model_choice import SHIPPED
from sumpool.inference.pipeline import Pipeline
from sumpool.io.manifest import MODEL
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.recipe.load import list_problems, override_all, validate
from sumpool.recipe.schema import Recipe
from sumpool.runs.run_folder import evaluation_folder, prepared_data_of, spread
from sumpool.settings import Settings
from sumpool.tasks.summarization.document_files import read_as_file

_DEFAULT_RESULTS = Results()


def prepared_folder(run: Path, recipe: Recipe, check: Check) -> Path:
    """Return the verified prepared data of a model; an imported model has none unless the settings name it."""
    if recipe.data.source is None and recipe.data.prepared is None:
        raise RecipeError(
            f"data.prepared must be a folder of prepared data, got nothing: {run} was imported and has no "
            "documents of its own; name some with --set data.prepared=FOLDER"
        )
    return prepared_data_of(run, recipe, check)


def evaluate_run(
    run: Path | None = None,
    split: Split = "test",
    *,
    overrides: Sequence[str] = (),
    limit: int | None = None,
    results: Results = _DEFAULT_RESULTS,
    report: Report = no_op,
    check: Check = no_op,
) -> EvaluationReport:
    """Summarise a split of a run's data with its model, and score the summaries.

    Args:
        run: The run folder; None takes the newest one.
        split: Part of the data.
        overrides: Settings to change, each like `summarize.beams=1`.
        limit: Documents to take, evenly spread over the split; None takes all.
        results: Destination of the results; by default `evaluation/<split>` in the run folder, or in the
            working directory for the shipped model, anew.
        report: Called with progress.
        check: Called between documents; when it raises, the scores so far are kept.

    Raises:
        CheckpointError: If there is no model, or it is damaged.
        RecipeError: If a setting or the limit is wrong.
        DataError: If the prepared data is missing, or the results to resume are of another evaluation.
        ResourceError: If the disk is full or fails.
    """
    # 1. Load the model and open the documents of its data.
    loaded = load_for_generation(run, overrides)
    folder, recipe = loaded.folder, loaded.recipe
    prepared = prepared_folder(folder, recipe, check)
    texts = Texts.open(prepared, split)
    indices = spread(len(texts), limit)
    if not indices:
        raise DataError(f"{prepared / split} must hold documents to evaluate, got none; take another split")

    # 2. Summarise each as it is asked for, unless it is done.
    def candidates(done: Set[str]) -> Iterator[Candidate]:
        rest = (example for example in map(texts.__getitem__, indices) if example.id not in done)
        return _summarize_examples(rest, loaded, check)

    def references() -> Iterator[ReferenceDocument]:
        for example in map(texts.__getitem__, indices):
            yield ReferenceDocument(example.id, example.summary, example.document)

    task = EvaluationTask(
        system=recipe.name,
        folder=evaluation_folder(Path() if folder.resolve() == SHIPPED.resolve() else folder, split),
        documents=len(indices),
        split=split,
        candidates=candidates,
        references=references,
        identity={
            "model": file_sha256(folder / MODEL),
            "data": file_sha256(prepared / split / "texts.jsonl"),
            "documents": f"{len(indices)} of {split}",
            **({"files": recipe.evaluate.files} if recipe.evaluate.files else {}),
            "decoding": recipe.summarize.model_dump_json(exclude={"batch_tokens"}),
        },
    )
    # 3. Score each document, then make the table.
    return evaluate_task(task, recipe.evaluate, results, report, check)


def evaluate_predictions(
    predictions: Path,
    references: Path,
    *,
    overrides: Sequence[str] = (),
    skip_missing: bool = False,
    results: Results = _DEFAULT_RESULTS,
    report: Report = no_op,
    check: Check = no_op,
) -> EvaluationReport:
    """Score summaries from anywhere.

    Args:
        predictions: JSON lines (.gz and .zst too) with `id` and `summary`, or names like these.
        references: JSON lines with `id`, `summary`, and `document` for the baselines.
        overrides: Settings to change, each like `evaluate.tokenizer=unicode`.
        skip_missing: Whether references without a summary are left out instead of an error.
        results: Destination of the results; by default `<predictions>-evaluation` beside the predictions, anew.
        report: Called with progress.
        check: Called between documents; when it raises, the scores so far are kept.

    Raises:
        RecipeError: If a setting is wrong, or the folder of the results holds anything else.
        DataError: If a row cannot be used, the files do not fit together, or the results to resume are of another
            evaluation.
        ResourceError: If the disk is full or fails.
    """
    # 1. Check the settings, read and join both files, so that all their errors appear now.
    config = _evaluation_config(overrides)
    joined = join(predictions, references, skip_missing=skip_missing)
    for note in joined.notes:
        report(Progress("evaluate", note=note))
    name = predictions.name.split(".")[0]
    task = EvaluationTask(
        system=name,
        folder=predictions.with_name(f"{name}-evaluation"),
        documents=joined.documents,
        split="",
        candidates=joined.candidates,
        references=joined.reference_documents,
        identity={"summaries": file_sha256(predictions), "references": file_sha256(references)},
        notes=joined.notes,
    )
    # 2. Score each document, then make the table.
    return evaluate_task(task, config, results, report, check)


class EvaluationSettings(Settings):
    """Settings of an evaluation without a run."""

    evaluate: EvaluationConfig = EvaluationConfig()


def _evaluation_config(overrides: Sequence[str]) -> EvaluationConfig:
    tree: dict[str, Any] = {}
    problems = override_all(tree, overrides)
    settings = validate(EvaluationSettings, tree, problems)
    if problems or not settings:
        raise RecipeError(list_problems(Path("--set"), problems))
    return settings.evaluate


def _summarize_examples(examples: Iterable[Example], loaded: LoadedModel, check: Check) -> Iterator[Candidate]:
    """Summarise examples in their order; at most some hundred are read ahead."""
    read, same = tee(examples)
    files = loaded.recipe.evaluate.files
    documents = (
        read_as_file(example.id, example.document, files) if files else Document(example.id, example.document)
        for example in read
    )
    summaries = Pipeline.of(loaded).summarize(documents, check=check)
    for summary, example in zip(summaries, same, strict=True):
        share_read = summary.tokens_read / summary.tokens_total if summary.tokens_total else 1.0
        yield Candidate(example.id, summary.summary, example.summary, example.document, share_read, summary.mode)
