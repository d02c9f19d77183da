"""Training setup of language models: prepared running text and a model with its initial weights."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from sumpool.core.model.language_model import LanguageModel
from sumpool.data.text_prepare import find_or_prepare_text
from sumpool.data.text_report import TextReport
from sumpool.data.text_stream import TextStream
from sumpool.data.text_windows import ConsecutiveWindows, TextWindows, WindowSampler, collate_windows
from sumpool.progress import Check, Report
from sumpool.recipe.language_model import LanguageModelRecipe
from sumpool.text.load import load_tokenizer
from sumpool.text.tokenizer import Tokenizer
from sumpool.training.data_order import BatchPlan, TrainingData


@dataclass(frozen=True)
class TextTrainingSetup:
    """Everything that training a language model needs besides the settings; the model is on the CPU."""

    prepared: Path
    report: TextReport
    tokenizer: Tokenizer
    data: TrainingData
    model: LanguageModel


def set_up_text_training(recipe: LanguageModelRecipe, report: Report, check: Check) -> TextTrainingSetup:
    """Prepare the text unless that is done, and build the model; the same seed gives the same initial weights.

    Raises:
        DataError: If the text cannot be used.
        RecipeError: If the folder of the prepared data holds something else.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal has come.
    """
    prepared, text_report = find_or_prepare_text(
        recipe.data, recipe.prepared_folder, skip_bad_rows=False, report=report, check=check
    )
    tokenizer = load_tokenizer(prepared)
    training, validation = (TextStream.open(prepared, split, tokenizer.vocab_size) for split in ("train", "validation"))
    torch.manual_seed(recipe.seed)
    model = build_language_model(recipe, tokenizer)
    model.checkpoint_activations(recipe.train.checkpoint_activations)
    length = recipe.model.length
    data = TrainingData(
        training=TextWindows(training, length, ring=True),
        validation=ConsecutiveWindows(validation, length),
        source_length=length,
        target_length=length,
        seed=recipe.seed,
        special_tokens=tokenizer.special_tokens,
        collate=collate_windows,
        sampler=partial(_plan, len(training), recipe),
    )
    return TextTrainingSetup(prepared, text_report, tokenizer, data, model)


def build_language_model(recipe: LanguageModelRecipe, tokenizer: Tokenizer) -> LanguageModel:
    """Build the model of a recipe with random weights; tokens of white space end words."""
    separators = torch.tensor([bool(token) and token.isspace() for token in tokenizer.token_bytes()])
    return LanguageModel(recipe.model, tokenizer.vocab_size, separators, tokenizer.special_tokens)


def _plan(tokens: int, recipe: LanguageModelRecipe, batch_tokens: int) -> BatchPlan:
    return WindowSampler(tokens, recipe.model.length, batch_tokens, recipe.seed, rotate=recipe.train.rotate)
