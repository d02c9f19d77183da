"""The task of modelling running text: the next character."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from sumpool.data.batches import TrainingData
from sumpool.recipe.task import Task
from sumpool.tasks.language_modeling.config import LanguageModelRecipe, TextReport
from sumpool.tasks.language_modeling.model import LanguageModel
from sumpool.tasks.language_modeling.stream import TextStream, TextWindows, collate_windows, window_batches
from sumpool.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from sumpool.evaluation.report import Evaluation


class LanguageModelingTask(Task[LanguageModelRecipe]):
    """Training and evaluation of language models."""

    recipe = LanguageModelRecipe
    report = TextReport
    kind = "language model"
    advice = "train a recipe with task: language_modeling, or name its run folder"
    use = "study segments {} doc.txt"
    title = "Language model of characters"
    unit = "character"
    limitations = (
        "The model continues text in the manner of its training text, true or not, and may repeat parts of it."
    )
    compares_runs = True
    evaluate_options = ("--out", "--resume", "--json", "--verify")

    def open_data(self, recipe: LanguageModelRecipe, prepared: Path, tokenizer: Tokenizer) -> TrainingData:
        """Open the windows of the text of training and validation."""
        training, validation = (TextStream(prepared, split, tokenizer.vocab_size) for split in ("train", "validation"))
        length = recipe.model.length
        return TrainingData(
            training=TextWindows(training, length, ring=True),
            validation=TextWindows(validation, length, ring=False),
            source_length=length,
            target_length=length,
            seed=recipe.seed,
            special_tokens=tokenizer.special_tokens,
            collate=collate_windows,
            sampler=partial(window_batches, len(training), length, seed=recipe.seed, rotate=recipe.train.rotate),
        )

    def build_model(self, recipe: LanguageModelRecipe, prepared: Path, tokenizer: Tokenizer) -> LanguageModel:
        """Build the model of a recipe with random weights; tokens of white space end words."""
        del prepared
        separators = torch.tensor([bool(token) and token.isspace() for token in tokenizer.token_bytes()])
        return LanguageModel(recipe.model, tokenizer.vocab_size, separators, tokenizer.special_tokens)

    def sizes(self, recipe: LanguageModelRecipe) -> dict[str, str]:
        """Return the boundaries and the training window."""
        boundaries = " and ".join(level.kind for level in recipe.model.boundaries) or "none"
        return {"boundaries of segments": boundaries, "training window": f"{recipe.model.length:,} characters"}

    @property
    def evaluate(self) -> "Callable[..., Evaluation]":
        """Function that scores a split of the text of each run, and compares the runs."""
        from sumpool.tasks.language_modeling.evaluate import evaluate_language_models

        return evaluate_language_models


TASK = LanguageModelingTask()
