"""The task of summarising documents."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import TrainingData
from sumpool.data.report import DataReport, leak_warning
from sumpool.data.shards import Shard
from sumpool.io.manifest import ADVICE
from sumpool.progress import Check, Report
from sumpool.recipe.schema import Recipe
from sumpool.recipe.task import Task
from sumpool.runs.model_card import LIMITATIONS
from sumpool.tasks._documents import document_warnings, open_documents, percent
from sumpool.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from sumpool.evaluation.report import Evaluation
    from sumpool.runs.training_report import Generator
    from sumpool.runs.training_setup import TrainingSetup


class SummarizationTask(Task[Recipe]):
    """Training and evaluation of summarisers."""

    recipe = Recipe
    report = DataReport
    kind = "model"
    advice = ADVICE
    use = "summarize --model {} doc.txt"
    title = "Summarisation model for long documents"
    unit = "token"
    limitations = LIMITATIONS
    compares_runs = True

    def build_model(self, recipe: Recipe, prepared: Path, tokenizer: Tokenizer) -> SummarizationModel:
        """Build the model of a recipe with random weights."""
        del prepared
        word_starts = torch.tensor(tokenizer.word_starts())
        return SummarizationModel(recipe.model, tokenizer.vocab_size, word_starts, tokenizer.special_tokens)

    def open_data(self, recipe: Recipe, prepared: Path, tokenizer: Tokenizer) -> TrainingData:
        """Open the documents of training and validation with their summaries."""
        return open_documents(recipe, prepared, tokenizer, tokenizer.vocab_size)

    def warnings(self, recipe: Recipe, setup: "TrainingSetup") -> Iterator[str]:
        """Warn of summaries that are cut or stand in the documents too."""
        training = setup.data.training
        assert isinstance(training, Shard), "training documents of summarisers are a shard"
        tokens = training.target_lengths + 1  # with EOS
        share = float(np.mean(tokens > recipe.model.target_length))
        if share:
            yield (
                f"warning: {percent(share)} of the training summaries have more than model.target_length = "
                f"{recipe.model.target_length} tokens and are cut; the longest has {tokens.max():,}"
            )
        assert isinstance(setup.data_report, DataReport), "documents have a data report"
        yield from leak_warning(setup.data_report.splits["train"].leak)
        yield from document_warnings(recipe, setup)

    def generator(self, recipe: Recipe, setup: "TrainingSetup", check: Check) -> "Generator | None":
        """Return what summarises validation documents; None if the recipe has none summarised."""
        from sumpool.tasks.summarization.training import validation_rouge

        return validation_rouge(recipe, setup, check) if recipe.train.rouge_documents else None

    def finish(self, run: Path, recipe: Recipe, prepared: Path, report: Report, check: Check) -> None:
        """Fit the sentence ranker."""
        from sumpool.tasks.summarization.training import train_ranker

        train_ranker(run, recipe, prepared, report=report, check=check)

    def sizes(self, recipe: Recipe) -> dict[str, str]:
        """Return the longest input and output."""
        longest = {"maximum input": recipe.model.source_length, "maximum output": recipe.model.target_length}
        return {name: f"{length:,} tokens" for name, length in longest.items()}

    @property
    def evaluate(self) -> "Callable[..., Evaluation]":
        """Function that scores summaries of runs and of files."""
        from sumpool.tasks.summarization.evaluate import evaluate_systems

        return evaluate_systems


TASK = SummarizationTask()
