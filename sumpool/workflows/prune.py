"""`sumpool prune`: the least important attention heads of a trained model are removed."""

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from sumpool.core.model.head_pruning import attentions, choose_heads, fixed_attentions, prune, pruned_config
from sumpool.data.batches import Batch, collate
from sumpool.data.labelled_batches import Pairs, collate_labelled
from sumpool.data.shards import Shard
from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.inference.loading import LoadedModel, load_model
from sumpool.inference.model_choice import task_of
from sumpool.interpret.head_importance import head_importance
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.progress import Check, Progress, Report, no_op, told_when_stopped
from sumpool.ranking.ranker import FILE as RANKER
from sumpool.recipe.load import dump_recipe, load_recipe
from sumpool.runs.model_card import CARD, pruning_section
from sumpool.runs.run_folder import COPIED, RECIPE, new_folder, require_new
from sumpool.tasks.classification.classifier import LoadedClassifier, load_classifier
from sumpool.text.load import same_tokenizer
from sumpool.training.config import TrainConfig
from sumpool.training.data_order import TrainingData
from sumpool.training.update import to_device
from sumpool.training.validation import validate
from sumpool.training.weights import export
from sumpool.workflows.run_documents import prepared_folder

Loaded = LoadedModel | LoadedClassifier
DOCUMENTS = 100
"""Validation documents of a call that names no number."""
_PASSES = 2
"""Timed validations of each model, in turn; the faster one counts."""


@dataclass(frozen=True)
class ModelCost:
    """Loss, size and time of a model on the validation documents.

    Attributes:
        loss: Validation loss, nats per target token.
        parameters: Number of parameters.
        heads: Number of attention heads.
        seconds: Time to score the documents.
    """

    loss: float
    parameters: int
    heads: int
    seconds: float


@dataclass(frozen=True)
class AttentionHeads:
    """Heads of one attention.

    Attributes:
        attention: Name of the attention in the model.
        heads: Index of each head among those that the attention was trained with.
        importance: Importance of each head; squares sum to 1.
        removed: Indices of the heads that were removed.
        fixed: Why its heads cannot be removed; empty if they can.
    """

    attention: str
    heads: tuple[int, ...]
    importance: tuple[float, ...]
    removed: tuple[int, ...] = ()
    fixed: str = ""


@dataclass(frozen=True)
class HeadPruning:
    """Importance of the heads of a model, and the model without some.

    Attributes:
        documents: Validation documents of importance, loss and time.
        attentions: Heads of every attention.
        before: Cost of the model.
        after: Cost without the removed heads; None if none was removed.
        folder: Folder of the model without them; None if none was removed.
    """

    documents: int
    attentions: tuple[AttentionHeads, ...]
    before: ModelCost
    after: ModelCost | None = None
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
    """Estimate the importance of all heads of a model, and write a model without the least important ones.

    Args:
        run: The run folder, which is not changed.
        share: Share of the heads to remove; None only estimates their importance.
        out: The new folder; may exist if it is empty. By default the run folder's name with "-pruned".
        documents: Validation documents to take, the first ones.
        overrides: Settings to change, each like `data.prepared=FOLDER`.
        report: Called with progress.
        check: Called between documents and files.

    Raises:
        CheckpointError: If the run folder has no model or no model card, or a file is damaged.
        RecipeError: If a setting is wrong, the share cannot be removed, or the new folder is not empty.
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
    load = load_classifier if task_of(run) == "classification" else load_model
    loaded: Loaded = load(run, overrides)
    names = [name for name in (*COPIED, RANKER, CARD) if (run / name).is_file()]
    if share is not None and CARD not in names:
        raise CheckpointError(f"{run} must have {CARD}, its model card, but its training has not ended; let it go on")
    data = _validation_data(loaded, check)
    settings = loaded.recipe.train.model_copy(update={"validate_documents": documents})
    documents = min(documents, len(data.validation))
    # 2. Estimate the importance of the heads, and choose those to remove.
    importance = head_importance(loaded.model, _single_documents(data, documents, loaded.device, report), check)
    fixed = fixed_attentions(loaded.model, loaded.recipe.model)
    try:
        kept = None if share is None else choose_heads(importance, share, fixed)
    except ValueError as error:
        raise RecipeError(f"--heads: {error}") from error
    heads = tuple(
        _describe(name, attention.head_indices, importance[name], kept[name] if kept else None, fixed.get(name, ""))
        for name, attention in attentions(loaded.model).items()
    )
    # 3. Remove them, and measure loss, size and time before and after.
    original: Loaded = load(run, overrides) if kept else loaded
    if kept:
        prune(loaded.model, kept)
    before, after = _measure([original, loaded], data, settings, check)
    if not kept:
        return HeadPruning(documents, heads, before)
    result = HeadPruning(documents, heads, before, after, str(out))
    # 4. Write a folder that appears when it is complete.
    _write(run, out, loaded, result, names, check)
    return result


def _write(run: Path, out: Path, loaded: Loaded, result: HeadPruning, names: Sequence[str], check: Check) -> None:
    """Write the folder of a model without some heads."""
    recipe = load_recipe(run)
    recipe = recipe.model_copy(update={"model": pruned_config(recipe.model, loaded.model)})
    assert result.after is not None, "heads were removed"
    with new_folder(out) as new:
        for name in names:
            check()
            shutil.copyfile(run / name, new / name)
        (new / RECIPE).write_text(dump_recipe(recipe), encoding="utf-8")
        removed = {entry.attention: entry.removed for entry in result.attentions if entry.removed}
        section = pruning_section(run, removed, result.before.loss, result.after.loss, result.documents)
        with (new / CARD).open("a", encoding="utf-8") as card:
            card.write(section)
        facts = {"pruned": Manifest.read(run).facts}
        listed = [name for name in (RECIPE, *names) if name != CARD]
        Manifest({name: FileDigest.of(new / name) for name in listed}, facts).write(new)
        check()
        export(new, loaded.model.cpu(), {"validation_loss": result.after.loss})
        check()


def _validation_data(loaded: Loaded, check: Check) -> TrainingData:
    """Open the validation documents of a model's data."""
    prepared = prepared_folder(loaded.folder, loaded.recipe, check)
    if not same_tokenizer(loaded.folder, prepared):
        raise DataError(
            f"{prepared} must have the vocabulary of {loaded.folder}, got another one: name the data that "
            "the model was trained on with --set data.prepared=FOLDER"
        )
    classes = len(loaded.labels) if isinstance(loaded, LoadedClassifier) else 0
    towers = loaded.model.towers if isinstance(loaded, LoadedClassifier) else 1
    shard = Shard.open(prepared, "validation", max(loaded.tokenizer.vocab_size, classes))
    documents = shard if towers == 1 else Pairs(shard, loaded.tokenizer.special_tokens.pad)
    model = loaded.recipe.model
    return TrainingData(
        training=documents,
        validation=documents,
        source_length=model.source_length,
        target_length=model.target_length,
        seed=loaded.recipe.seed,
        special_tokens=loaded.tokenizer.special_tokens,
        collate=collate_labelled if classes else collate,
        towers=towers,
    )


def _single_documents(data: TrainingData, documents: int, device: torch.device, report: Report) -> Iterator[Batch]:
    for index in range(documents):
        report(Progress("importance of heads", index, documents))
        yield to_device(data.batch(data.validation, [index]), device)
    report(Progress("importance of heads", documents, documents))


def _describe(
    name: str, indices: tuple[int, ...], importance: torch.Tensor, kept: Sequence[int] | None, fixed: str
) -> AttentionHeads:
    removed = () if kept is None else tuple(index for head, index in enumerate(indices) if head not in kept)
    return AttentionHeads(name, indices, tuple(importance.tolist()), removed, fixed)


def _measure(models: Sequence[Loaded], data: TrainingData, settings: TrainConfig, check: Check) -> list[ModelCost]:
    """Measure models in turn, so that other work of the machine falls on all of them."""
    seconds: list[list[float]] = [[] for _ in models]
    losses = [0.0] * len(models)
    for _ in range(_PASSES):
        for number, loaded in enumerate(models):
            begin = time.perf_counter()
            losses[number] = validate(loaded.model, data, settings, loaded.device, check).nats
            seconds[number].append(time.perf_counter() - begin)
    return [
        ModelCost(
            loss=loss,
            parameters=sum(parameter.numel() for parameter in loaded.model.parameters()),
            heads=sum(attention.heads for attention in attentions(loaded.model).values()),
            seconds=min(times),
        )
        for loaded, loss, times in zip(models, losses, seconds, strict=True)
    ]
