"""Teacher of a training (`train.teacher`): token distributions or summaries that the model learns from.

The folder `teacher` of the run has a manifest that names the teacher's weights, so that a run continues with the same
teacher only, and the summaries for distillation by sequence (Kim and Rush, 2016), which are written once.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from torch import nn

from sumpool.data.batches import ItemSource, TrainingData
from sumpool.data.prepared_folder import content_digest
from sumpool.data.shards import Item, Shard
from sumpool.documents.document import Document
from sumpool.errors import DataError, RecipeError
from sumpool.inference.loading import find_model, load_for_generation, load_run_of_task
from sumpool.inference.pipeline import Pipeline
from sumpool.io.atomic import disk_errors
from sumpool.io.bounded import parse_json
from sumpool.io.json_lines import ResumableFile, read_records
from sumpool.io.manifest import MODEL, FileDigest, Manifest, run_folder
from sumpool.io.replaceable import begin_folder
from sumpool.progress import Check, Progress, Report
from sumpool.recipe.schema import BaseRecipe, Recipe
from sumpool.recipe.task import find_task
from sumpool.runs.training_setup import TrainingSetup
from sumpool.text.tokenizer import id_dtype, same_tokenizer
from sumpool.training.config import LAYER_LOSSES
from sumpool.training.distillation import Teacher

FOLDER = "teacher"
SUMMARIES = "summaries.jsonl"
_ABSTRACTIVE = ("summarize.mode=abstractive", "summarize.fast=false")
_ADVICE = "put the teacher back, or train into another folder with --out"


def data_with_teacher(recipe: BaseRecipe, setup: TrainingSetup, run: Path | None) -> TrainingData:
    """Return the training data of a recipe with its teacher for distillation by word.

    Args:
        recipe: The recipe, which has a teacher.
        setup: Its prepared data.
        run: The run folder, which is not changed; None for none.

    Raises:
        RecipeError: If the teacher does not fit the recipe or its data.
        CheckpointError: If the teacher is damaged.
    """
    assert recipe.train.teacher, "callers ask before"
    folder, config = run_folder(recipe.train.teacher), recipe.train
    if not (folder / MODEL).is_file():
        raise RecipeError(f"train.teacher must be a run folder with {MODEL}, got {folder}")
    if run and run.resolve() == folder.resolve():
        raise RecipeError(f"train.teacher must be another run than the one to train, got {folder}")
    if config.distillation == "sequence":
        find_model(folder, _ABSTRACTIVE)
        return setup.data
    assert isinstance(recipe, Recipe), "recipes of other tasks have no teacher"
    model = _load_word_teacher(folder, recipe, setup)
    losses = tuple(name for name in LAYER_LOSSES if name in config.loss_weights)
    teacher = Teacher(model, config.distillation_temperature, config.distillation_weight, losses)
    return replace(setup.data, teacher=teacher)


def begin_teaching(
    recipe: BaseRecipe, setup: TrainingSetup, data: TrainingData, run: Path, report: Report, check: Check
) -> TrainingData:
    """Name the teacher in a run folder, and return the data with its summaries for distillation by sequence.

    Args:
        recipe: The recipe, which has a teacher.
        setup: Its prepared data.
        data: Result of `data_with_teacher`.
        run: The run folder, locked.
        report: Called with progress.
        check: Called between batches of summaries.

    Raises:
        RecipeError: If the run began with another teacher.
        CheckpointError: If the teacher is damaged.
        DataError: If its saved summaries are damaged.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal has come; the summaries so far are kept.
    """
    assert recipe.train.teacher, "callers ask before"
    teacher = run_folder(recipe.train.teacher)
    if recipe.train.distillation == "sequence":
        return replace(data, training=_taught_documents(teacher, setup, run / FOLDER, report, check))
    _claim(run / FOLDER, {"weights": FileDigest.of(teacher / MODEL, check).sha256, "distillation": "word"})
    return data


@dataclass(frozen=True, eq=False)
class TaughtDocuments:
    """Documents with other targets than their own.

    Attributes:
        documents: The documents.
        targets: Token ids of the summary of each, without EOS; an empty one leaves the document its own.
    """

    documents: ItemSource
    targets: Sequence[np.ndarray]

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each document, (documents,)."""
        return self.documents.lengths

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, index: int) -> Item:
        item, target = self.documents[index], self.targets[index]
        return replace(item, target=target) if len(target) else item


def _load_word_teacher(folder: Path, recipe: Recipe, setup: TrainingSetup) -> nn.Module:
    """Load a teacher with the vocabulary of the data that reads documents as long as the model does."""
    task = find_task(recipe.task)
    loaded = load_run_of_task(folder, (), recipe.task)
    if not same_tokenizer(folder, setup.prepared):
        raise RecipeError(
            f"train.teacher must have the vocabulary of {setup.prepared} for distillation by word, got another one in "
            f"{folder}: set train.distillation=sequence, or name the prepared data of that run as data.prepared"
        )
    for name in task.files:
        if (folder / name).read_bytes() != (setup.prepared / name).read_bytes():
            stem = Path(name).stem
            raise RecipeError(f"train.teacher must have the {stem} of {setup.prepared}, got other ones in {folder}")
    for name in ("source_length", "target_length") if recipe.has_decoder else ("source_length",):
        least, most = getattr(recipe.model, name), getattr(loaded.recipe.model, name)
        if least > most:
            raise RecipeError(f"model.{name} must be at most that of train.teacher, {most}, got {least}")
    return loaded.model


def _claim(folder: Path, facts: dict[str, str]) -> Manifest:
    """Begin a teacher's folder, or check that it is of the same teacher."""
    with disk_errors(folder):
        begin_folder(folder, "summaries", facts)
    manifest = Manifest.read(folder, "summaries")
    for name, value in facts.items():
        if manifest.facts.get(name) != value:
            raise RecipeError(
                f"{folder} must be of the same teacher to go on, got {name} {manifest.facts.get(name)!r} there and "
                f"{value!r} now; {_ADVICE}"
            )
    return manifest


def _taught_documents(
    teacher: Path, setup: TrainingSetup, folder: Path, report: Report, check: Check
) -> TaughtDocuments:
    """Return the training documents with the summaries of the teacher, which are written first where they lack."""
    documents, path = setup.data.training, folder / SUMMARIES
    assert isinstance(documents, Shard), "training documents of summarisers are a shard"
    _, recipe = find_model(teacher, _ABSTRACTIVE)
    facts = {
        "weights": FileDigest.of(teacher / MODEL, check).sha256,
        "distillation": "sequence",
        "decoding": recipe.summarize.model_dump_json(exclude={"batch_tokens", "device"}),
        "documents": content_digest(setup.prepared),
    }
    manifest = _claim(folder, facts)
    manifest.verify(folder, manifest.files, check)
    texts = _read(path) if path.exists() else []
    if not manifest.files:
        if len(texts) < len(documents):
            pipeline = Pipeline.of(load_for_generation(teacher, _ABSTRACTIVE))
            left = map(documents.text, range(len(texts), len(documents)))
            waiting = (Document(example.id, example.document) for example in left)
            with ResumableFile(path, resume=True) as file:
                for summary in pipeline.summarize(waiting, check=check):
                    file.append(json.dumps({"id": summary.id, "summary": summary.text}, ensure_ascii=False))
                    texts.append(summary.text)
                    report(Progress("summaries of the teacher", len(texts), len(documents)))
        with disk_errors(folder):
            Manifest({SUMMARIES: FileDigest.of(path, check)}, facts, kind="summaries").write(folder)
    if len(texts) != len(documents):
        raise DataError(f"{path} must hold {len(documents):,} summaries, got {len(texts):,}; remove {folder}")
    tokenizer = setup.tokenizer
    prefix, dtype = tokenizer.special_tokens.prefix, id_dtype(tokenizer.vocab_size)
    targets = [np.array([*prefix, *tokenizer.encode(text)] if text else [], dtype) for text in texts]
    return TaughtDocuments(documents, targets)


def _read(path: Path) -> list[str]:
    def parse(line: bytes) -> str:
        summary = parse_json(line)["summary"]
        if not isinstance(summary, str):
            raise ValueError(summary)
        return summary

    return list(read_records(path, parse, "a document's id and summary", f"remove {path.parent}"))
