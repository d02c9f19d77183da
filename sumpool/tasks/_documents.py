"""What the tasks share whose models read documents.

Methods import what they need when they are called, as a recipe of such a task is also read where nothing is trained.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sumpool.errors import DataError
from sumpool.progress import Check, Report, no_op
from sumpool.recipe.schema import Recipe
from sumpool.recipe.task import Task

if TYPE_CHECKING:
    from sumpool.data.batches import TrainingData
    from sumpool.data.config import Split
    from sumpool.data.report import DataReport
    from sumpool.runs.training_setup import TrainingSetup
    from sumpool.text.tokenizer import Tokenizer

_NAMED_DOCUMENTS = 5
"""Documents that an error names."""
DocumentRecipe = TypeVar("DocumentRecipe", bound=Recipe)


class DocumentTask(Task[DocumentRecipe]):
    """Task whose models read documents."""

    def prepare(
        self,
        recipe: DocumentRecipe,
        *,
        skip_bad_rows: bool = False,
        report: Report = no_op,
        check: Check = no_op,
    ) -> "tuple[Path, DataReport]":
        """Prepare the documents of a recipe."""
        from sumpool.data.prepared_folder import find_or_prepare

        return find_or_prepare(
            recipe.data, recipe.prepared_folder, skip_bad_rows=skip_bad_rows, report=report, check=check
        )

    def load_report(self, folder: Path) -> "DataReport":
        """Read the data report of prepared data, which a run folder has too."""
        from sumpool.data.report import DataReport

        return DataReport.load(folder)

    def warnings(self, recipe: DocumentRecipe, setup: "TrainingSetup") -> Iterator[str]:
        """Warn of documents that are never read, and of a selection by few documents.

        Raises:
            DataError: If documents of validation and test are in training too.
        """
        from sumpool.data.report import documents_in_training
        from sumpool.runs.training_setup import training_warnings

        evaluated: tuple[Split, ...] = () if recipe.train.allow_shared_texts else ("validation", "test")
        for split in evaluated:
            if self.load_report(setup.prepared).splits[split].in_training:
                ids = documents_in_training(setup.prepared, split)
                named = ", ".join(map(repr, ids[:_NAMED_DOCUMENTS])) + (", ..." if len(ids) > _NAMED_DOCUMENTS else "")
                raise DataError(
                    f"{setup.prepared / split} must hold texts that are not in training, got {len(ids):,} that are: "
                    f"{named}; remove them from the source, or train all the same with train.allow_shared_texts=true"
                )
        yield from training_warnings(recipe.train, setup.data)


def open_documents(recipe: Recipe, prepared: Path, tokenizer: "Tokenizer", ids: int) -> "TrainingData":
    """Open prepared documents whose targets are ids below `ids`."""
    from sumpool.data.batches import TrainingData
    from sumpool.data.shards import Shard

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
