"""Training setup: prepared data and a model with its initial weights, before the first update."""

from dataclasses import dataclass
from pathlib import Path

import torch

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.encoding import PHRASES
from sumpool.data.prepared_folder import find_or_prepare
from sumpool.data.report import DataReport
from sumpool.data.shards import Shard
from sumpool.progress import Check, Progress, Report
from sumpool.recipe.schema import Recipe
from sumpool.runs.training_notes import training_warnings
from sumpool.text.load import load_tokenizer
from sumpool.text.phrases import Phrases
from sumpool.text.tokenizer import Tokenizer
from sumpool.training.data_order import TrainingData


@dataclass(frozen=True)
class TrainingSetup:
    """Everything that training needs besides the settings; the model is on the CPU."""

    prepared: Path
    data_report: DataReport
    tokenizer: Tokenizer
    validation: Shard
    data: TrainingData
    model: SummarizationModel


def set_up_training(recipe: Recipe, report: Report, check: Check) -> TrainingSetup:
    """Prepare the data unless that is done, and build the model; the same seed gives the same initial weights.

    Raises:
        DataError: If the data cannot be used.
        RecipeError: If the recipe does not fit the data.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal has come.
    """
    default = recipe.prepared_folder
    prepared, data_report = find_or_prepare(recipe.data, default, skip_bad_rows=False, report=report, check=check)
    tokenizer = load_tokenizer(prepared)
    training, validation = (Shard.open(prepared, split, tokenizer.vocab_size) for split in ("train", "validation"))
    torch.manual_seed(recipe.seed)
    word_starts = torch.tensor(tokenizer.word_starts())
    model = SummarizationModel(recipe.model, tokenizer.vocab_size, word_starts, tokenizer.special_tokens)
    model.checkpoint_activations(recipe.train.checkpoint_activations)
    data = TrainingData(
        training=training,
        validation=validation,
        source_length=recipe.model.source_length,
        target_length=recipe.model.target_length,
        seed=recipe.seed,
        phrases=Phrases.load(prepared / PHRASES) if recipe.data.phrases else None,
        special_tokens=tokenizer.special_tokens,
        rotate=recipe.train.rotate,
    )
    for note in training_warnings(recipe, training, data):
        report(Progress("train", note=note))
    return TrainingSetup(prepared, data_report, tokenizer, validation, data, model)
