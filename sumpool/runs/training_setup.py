"""Training setup: prepared data and a model with its initial weights, before the first update."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from sumpool.core.model.classifier import ClassificationModel
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import collate
from sumpool.data.labelled_batches import Pairs, collate_labelled
from sumpool.data.labels import Labels
from sumpool.data.prepared_folder import find_or_prepare
from sumpool.data.report import DataReport
from sumpool.data.shards import Shard
from sumpool.data.sources._base import Split
from sumpool.errors import DataError
from sumpool.progress import Check, Progress, Report
from sumpool.recipe.schema import Recipe
from sumpool.text.load import load_tokenizer
from sumpool.text.tokenizer import Tokenizer
from sumpool.training.config import MIN_SELECTION_DOCUMENTS
from sumpool.training.data_order import TrainingData

_NAMED_DOCUMENTS = 5
"""Documents that an error names."""


@dataclass(frozen=True)
class TrainingSetup:
    """Everything that training needs besides the settings; the model is on the CPU."""

    prepared: Path
    data_report: DataReport
    tokenizer: Tokenizer
    validation: Shard
    data: TrainingData
    model: SummarizationModel | ClassificationModel


def set_up_training(recipe: Recipe, report: Report, check: Check) -> TrainingSetup:
    """Prepare the data unless that is done, and build the model; the same seed gives the same initial weights.

    Raises:
        DataError: If the data cannot be used, or documents of validation and test are in training too.
        RecipeError: If the recipe does not fit the data.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal has come.
    """
    default = recipe.prepared_folder
    prepared, data_report = find_or_prepare(recipe.data, default, skip_bad_rows=False, report=report, check=check)
    if not recipe.train.allow_shared_texts:
        _require_separate_texts(prepared, data_report)
    tokenizer = load_tokenizer(prepared)
    labels = Labels.load(prepared) if recipe.task == "classification" else None
    ids = max(tokenizer.vocab_size, len(labels or ()))
    training, validation = (Shard.open(prepared, split, ids) for split in ("train", "validation"))
    torch.manual_seed(recipe.seed)
    model = _build_model(recipe, tokenizer, labels)
    model.checkpoint_activations(recipe.train.checkpoint_activations)
    towers = model.towers if isinstance(model, ClassificationModel) else 1
    pad = tokenizer.special_tokens.pad
    phrases = None
    if recipe.data.phrases:
        from sumpool.text.phrases import PHRASES, Phrases

        phrases = Phrases.load(prepared / PHRASES)
    data = TrainingData(
        training=training if towers == 1 else Pairs(training, pad),
        validation=validation if towers == 1 else Pairs(validation, pad),
        source_length=recipe.model.source_length,
        target_length=recipe.model.target_length,
        seed=recipe.seed,
        phrases=phrases,
        special_tokens=tokenizer.special_tokens,
        rotate=recipe.train.rotate,
        collate=collate_labelled if labels else collate,
        towers=towers,
    )
    for note in training_warnings(recipe, training, data):
        report(Progress("train", note=note))
    return TrainingSetup(prepared, data_report, tokenizer, validation, data, model)


def _build_model(
    recipe: Recipe, tokenizer: Tokenizer, labels: Labels | None
) -> SummarizationModel | ClassificationModel:
    """Build the model of a recipe with random weights; a classifier has a class for each label."""
    word_starts = torch.tensor(tokenizer.word_starts())
    special_tokens = tokenizer.special_tokens
    if labels:
        return ClassificationModel(recipe.model, tokenizer.vocab_size, len(labels), word_starts, special_tokens)
    return SummarizationModel(recipe.model, tokenizer.vocab_size, word_starts, special_tokens)


def _require_separate_texts(prepared: Path, report: DataReport) -> None:
    """Check that no text of validation or test is in training.

    Raises:
        DataError: If one is.
    """
    evaluated: tuple[Split, ...] = ("validation", "test")
    for split in evaluated:
        if report.splits[split].in_training:
            from sumpool.data.contamination import documents_in_training

            ids = documents_in_training(prepared, split)
            named = ", ".join(map(repr, ids[:_NAMED_DOCUMENTS])) + (", ..." if len(ids) > _NAMED_DOCUMENTS else "")
            raise DataError(
                f"{prepared / split} must hold texts that are not in training, got {len(ids):,} that are: {named}; "
                "remove them from the source, or train all the same with train.allow_shared_texts=true"
            )


def training_warnings(recipe: Recipe, training: Shard, data: TrainingData) -> Iterator[str]:
    """Warn of references that are cut, of documents that are never read, and of a selection by few documents."""
    train, target_length = recipe.train, recipe.model.target_length
    tokens = training.target_lengths + 1  # with EOS
    share = float(np.mean(tokens > target_length))
    if share:
        yield (
            f"warning: {_percent(share)} of the training summaries have more than model.target_length = "
            f"{target_length} tokens and are cut; the longest has {tokens.max():,}"
        )
    epoch = math.ceil(len(data.plan(train.batch_tokens).batches(0)) / train.accumulate)
    if 0 < train.steps < epoch:
        yield (
            f"warning: train.steps = {train.steps:,} ends after {_percent(train.steps / epoch)} of the first epoch, "
            f"which has {epoch:,} updates; the other training documents are never read"
        )
    name = "validate_documents" if recipe.task == "classification" else "rouge_documents"
    documents = min(getattr(train, name), len(data.validation))
    if train.select_by != "loss" and documents < MIN_SELECTION_DOCUMENTS:
        yield (
            f"warning: {train.select_by} of {documents} validation documents is too uncertain to select by, see its "
            f"standard error (±); train.{name} and the validation split should have {MIN_SELECTION_DOCUMENTS} "
            "or more"
        )


def _percent(share: float) -> str:
    """Render a share that is not rounded to 0 or 100 %."""
    return f"{min(max(share, 0.001), 0.999):.1%}" if 0 < share < 1 else f"{share:.0%}"
