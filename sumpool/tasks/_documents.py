"""What the tasks share whose models read documents."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sumpool.data.batches import TrainingData
from sumpool.data.config import Split
from sumpool.data.report import DataReport, documents_in_training
from sumpool.data.shards import Shard
from sumpool.errors import DataError
from sumpool.recipe.schema import Recipe
from sumpool.text.tokenizer import Tokenizer
from sumpool.training.config import MIN_SELECTION_DOCUMENTS

if TYPE_CHECKING:
    from sumpool.runs.training_setup import TrainingSetup

_NAMED_DOCUMENTS = 5
"""Documents that an error names."""


def document_warnings(recipe: Recipe, setup: "TrainingSetup") -> Iterator[str]:
    """Warn of documents that are never read, and of a selection by few documents.

    Raises:
        DataError: If documents of validation and test are in training too.
    """
    assert isinstance(setup.data_report, DataReport), "documents have a data report"
    evaluated: tuple[Split, ...] = () if recipe.train.allow_shared_texts else ("validation", "test")
    for split in evaluated:
        if setup.data_report.splits[split].in_training:
            ids = documents_in_training(setup.prepared, split)
            named = ", ".join(map(repr, ids[:_NAMED_DOCUMENTS])) + (", ..." if len(ids) > _NAMED_DOCUMENTS else "")
            raise DataError(
                f"{setup.prepared / split} must hold texts that are not in training, got {len(ids):,} that are: "
                f"{named}; remove them from the source, or train all the same with train.allow_shared_texts=true"
            )
    train, data = recipe.train, setup.data
    epoch = math.ceil(len(data.epochs(train.batch_tokens)(0)) / train.accumulate)
    if 0 < train.steps < epoch:
        yield (
            f"warning: train.steps = {train.steps:,} ends after {percent(train.steps / epoch)} of the first epoch, "
            f"which has {epoch:,} updates; the other training documents are never read"
        )
    name = "rouge_documents" if train.select_by.startswith("rouge") else "validate_documents"
    documents = min(getattr(train, name), len(data.validation))
    if train.select_by != "loss" and documents < MIN_SELECTION_DOCUMENTS:
        yield (
            f"warning: {train.select_by} of {documents} validation documents is too uncertain to select by, see its "
            f"standard error (±); train.{name} and the validation split should have {MIN_SELECTION_DOCUMENTS} "
            "or more"
        )


def percent(share: float) -> str:
    """Render a share that is not rounded to 0 or 100 %."""
    return f"{min(max(share, 0.001), 0.999):.1%}" if 0 < share < 1 else f"{share:.0%}"


def open_documents(recipe: Recipe, prepared: Path, tokenizer: Tokenizer, ids: int) -> TrainingData:
    """Open prepared documents whose targets are ids below `ids`."""
    training, validation = (Shard(prepared, split, ids) for split in ("train", "validation"))
    phrases = None
    if recipe.data.phrases:
        from sumpool.text.sentencepiece_tokenizer import PHRASES, Phrases

        phrases = Phrases.load(prepared / PHRASES)
    return TrainingData(
        training=training,
        validation=validation,
        source_length=recipe.model.source_length,
        target_length=recipe.model.target_length,
        seed=recipe.seed,
        phrases=phrases,
        special_tokens=tokenizer.special_tokens,
    )
