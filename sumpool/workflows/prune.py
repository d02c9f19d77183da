"""`sumpool prune`: the least important attention heads of a trained model are masked."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from sumpool.data.batches import Batch
from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.inference.loading import LoadedRun
from sumpool.inference.model_choice import task_of
from sumpool.interpret.heads import choose_heads, head_importance, mask_heads, unmasked_heads
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.progress import Check, Progress, Report, no_op, told_when_stopped
from sumpool.ranking.ranker import FILE as RANKER
from sumpool.recipe.schema import Recipe
from sumpool.recipe.task import DEFAULT, find_task
from sumpool.runs.model_card import CARD, pruning_section
from sumpool.runs.run_folder import RECIPE, copied_files, new_folder, require_new
from sumpool.tasks.summarization.evaluate import prepared_folder
from sumpool.text.load import same_tokenizer
from sumpool.training.data_order import TrainingData
from sumpool.training.update import to_device
from sumpool.training.validation import validate
from sumpool.training.weights import export

DOCUMENTS = 100
"""Validation documents of a call that names no number."""


@dataclass(frozen=True)
class ModelLoss:
    """Loss of a model on the validation documents.

    Attributes:
        loss: Validation loss, nats per target token.
        heads: Number of attention heads that are not masked.
    """

    loss: float
    heads: int


@dataclass(frozen=True)
class AttentionHeads:
    """Heads of one attention.

    Attributes:
        attention: Name of the attention in the model.
        heads: Indices of the heads that were not masked before.
        importance: Importance of each of them; squares sum to 1.
        masked: Indices of the heads that were masked.
    """

    attention: str
    heads: tuple[int, ...]
    importance: tuple[float, ...]
    masked: tuple[int, ...] = ()


@dataclass(frozen=True)
class HeadPruning:
    """Importance of the heads of a model, and the model with some masked.

    Attributes:
        documents: Validation documents of importance and loss.
        attentions: Heads of every attention.
        before: Loss of the model.
        after: Loss with the masked heads; None if none was masked.
        folder: Folder of the model with them; None if none was masked.
    """

    documents: int
    attentions: tuple[AttentionHeads, ...]
    before: ModelLoss
    after: ModelLoss | None = None
    folder: str | None = None


@told_when_stopped("nothing was pruned")
def prune_heads(
    run: Path,
    share: float | None = None,
    out: Path | None = None,
    *,
    documents: int = DOCUMENTS,
    overrides: Sequence[str] = (),
    report: Report = no_op,
    check: Check = no_op,
) -> HeadPruning:
    """Estimate the importance of all heads of a model, and write a model with the least important ones masked.

    Args:
        run: The run folder, which is not changed.
        share: Share of the heads to mask; None only estimates their importance.
        out: The new folder; may exist if it is empty. By default the run folder's name with "-pruned".
        documents: Validation documents to take, the first ones.
        overrides: Settings to change, each like `data.prepared=FOLDER`.
        report: Called with progress.
        check: Called between documents and files.

    Raises:
        CheckpointError: If the run folder has no model or no model card, or a file is damaged.
        RecipeError: If a setting is wrong, the share cannot be masked, or the new folder is not empty.
        DataError: If the prepared data is missing, has another vocabulary, or no validation document.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal has come; nothing is written.
    """
    if any(change.startswith("model.") for change in overrides):
        raise RecipeError("--set must leave the model of a run as it is, got a setting of model")
    out = out or run.with_name(f"{run.name}-pruned")
    if share is not None:
        require_new(out)
    # 1. Load the model, which verifies the run folder, and open the validation documents of its data.
    task = find_task(task_of(run) or DEFAULT)
    if not issubclass(task.recipe, Recipe):
        task = find_task(DEFAULT)  # which says that the run is of another task
    loaded = task.load(run, overrides)
    names = [name for name in (*copied_files(loaded.recipe.task), RANKER, CARD) if (run / name).is_file()]
    if share is not None and CARD not in names:
        raise CheckpointError(f"{run} must have {CARD}, its model card, but its training has not ended; let it go on")
    data = _validation_data(loaded, check)
    settings = loaded.recipe.train.model_copy(update={"validate_documents": documents})
    documents = min(documents, len(data.validation))
    # 2. Estimate the importance of the heads, and choose those to mask.
    importance = head_importance(loaded.model, _single_documents(data, documents, loaded.device, report), check)
    heads = unmasked_heads(loaded.model)
    try:
        masked = {} if share is None else choose_heads(importance, heads, share)
    except ValueError as error:
        raise RecipeError(f"--heads: {error}") from error
    listed = tuple(
        AttentionHeads(name, indices, tuple(importance[name][list(indices)].tolist()), masked.get(name, ()))
        for name, indices in heads.items()
    )
    # 3. Measure the loss before and after.
    count = sum(map(len, heads.values()))
    before = ModelLoss(validate(loaded.model, data, settings, loaded.device, check).nats, count)
    if share is None:
        return HeadPruning(documents, listed, before)
    mask_heads(loaded.model, masked)
    remaining = count - sum(map(len, masked.values()))
    after = ModelLoss(validate(loaded.model, data, settings, loaded.device, check).nats, remaining)
    result = HeadPruning(documents, listed, before, after, str(out))
    # 4. Write a folder that appears when it is complete.
    _write(run, out, loaded, result, names, check)
    return result


def _write(run: Path, out: Path, loaded: LoadedRun, result: HeadPruning, names: Sequence[str], check: Check) -> None:
    """Write the folder of a model with some heads masked."""
    assert result.after is not None, "heads were masked"
    with new_folder(out) as new:
        for name in (RECIPE, *names):
            check()
            shutil.copyfile(run / name, new / name)
        masked = {entry.attention: entry.masked for entry in result.attentions if entry.masked}
        section = pruning_section(run, masked, result.before.loss, result.after.loss, result.documents)
        with (new / CARD).open("a", encoding="utf-8") as card:
            card.write(section)
        facts = {"pruned": Manifest.read(run).facts}
        listed = [name for name in (RECIPE, *names) if name != CARD]
        Manifest({name: FileDigest.of(new / name) for name in listed}, facts).write(new)
        check()
        export(new, loaded.model.cpu(), {"validation_loss": result.after.loss})
        check()


def _validation_data(loaded: LoadedRun, check: Check) -> TrainingData:
    """Open the validation documents of a model's data."""
    assert isinstance(loaded.recipe, Recipe), "the task has models that read documents"
    prepared = prepared_folder(loaded.folder, loaded.recipe, check)
    if not same_tokenizer(loaded.folder, prepared):
        raise DataError(
            f"{prepared} must have the vocabulary of {loaded.folder}, got another one: name the data that "
            "the model was trained on with --set data.prepared=FOLDER"
        )
    data: TrainingData = find_task(loaded.recipe.task).open_data(loaded.recipe, prepared, loaded.tokenizer)
    return data


def _single_documents(data: TrainingData, documents: int, device: torch.device, report: Report) -> Iterator[Batch]:
    for index in range(documents):
        report(Progress("importance of heads", index, documents))
        yield to_device(data.batch(data.validation, [index]), device)
    report(Progress("importance of heads", documents, documents))
