"""The task of classifying documents by labels."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import torch
from pydantic import model_validator

from sumpool.data.batches import TrainingData
from sumpool.recipe.schema import Recipe
from sumpool.recipe.task import Task
from sumpool.tasks._documents import document_warnings, open_documents
from sumpool.tasks.classification.labels import LABELS, LabelledDataConfig, LabelledReport, load_labels
from sumpool.tasks.classification.model import ClassificationModel, ClassificationModelConfig, Pairs, collate_labelled
from sumpool.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from sumpool.evaluation.report import Evaluation
    from sumpool.runs.training_setup import TrainingSetup

_LIMITATIONS = """\
The model knows the labels of its training documents and is untested on other kinds of documents: it gives one of these
labels to any text. Its probabilities are not calibrated."""


class ClassificationRecipe(Recipe):
    """Complete configuration of a classifier's run: `task: classification`."""

    task: Literal["classification"]  # type: ignore[assignment]  # the only value that differs
    """What the model learns, here to classify documents by the labels of `data.source`."""
    data: LabelledDataConfig  # type: ignore[assignment]  # documents with labels in place of summaries
    """Source of the labelled documents, and their preparation."""
    model: ClassificationModelConfig
    """Architecture of the model."""

    selection_measures: ClassVar[tuple[str, ...]] = ("loss", "accuracy")

    @property
    def has_decoder(self) -> bool:
        """Whether the model writes summaries."""
        return False

    @property
    def towers(self) -> int:
        """Documents of a row."""
        return self.model.classifier.towers if self.model.classifier else 1

    @model_validator(mode="after")
    def _settings_suit_labels(self) -> Self:
        documents = 2 if self.data.source.second else 1
        if self.towers != documents:
            raise ValueError(
                f"model.classifier.towers must be {documents}, the documents of a row, got {self.towers}; "
                "data.source.second names the second one"
            )
        without = {"data.shuffled": self.data.shuffled, "data.gap_sentences": self.data.gap_sentences}
        for name, value in without.items():
            if value:
                raise ValueError(f"{name} must be left out of task: classification, got {value}")
        if self.train.distillation == "sequence":
            raise ValueError(
                "train.distillation must be word for task: classification, got sequence; it has no summaries"
            )
        return self


class ClassificationTask(Task[ClassificationRecipe]):
    """Training and evaluation of classifiers."""

    recipe = ClassificationRecipe
    report = LabelledReport
    kind = "classifier"
    advice = "train a recipe with task: classification, or name a run with --model"
    use = "classify --model {} doc.txt"
    title = "Classifier of long documents"
    unit = "label"
    limitations = _LIMITATIONS
    files = (LABELS,)
    evaluate_options = ("--out", "--json")

    def build_model(self, recipe: ClassificationRecipe, prepared: Path, tokenizer: Tokenizer) -> ClassificationModel:
        """Build the model of a recipe with random weights; it has a class for each label."""
        word_starts, labels = torch.tensor(tokenizer.word_starts()), load_labels(prepared)
        special_tokens = tokenizer.special_tokens
        return ClassificationModel(recipe.model, tokenizer.vocab_size, len(labels), word_starts, special_tokens)

    def open_data(self, recipe: ClassificationRecipe, prepared: Path, tokenizer: Tokenizer) -> TrainingData:
        """Open the documents of training and validation, or the pairs, with their labels."""
        data = open_documents(recipe, prepared, tokenizer, max(tokenizer.vocab_size, len(load_labels(prepared))))
        data = replace(data, collate=collate_labelled, towers=recipe.towers)
        if recipe.towers == 1:
            return data
        pad = tokenizer.special_tokens.pad
        return replace(data, training=Pairs(data.training, pad), validation=Pairs(data.validation, pad))

    def warnings(self, recipe: ClassificationRecipe, setup: "TrainingSetup") -> Iterator[str]:
        """Warn of documents that are never read, and of a selection by few documents."""
        return document_warnings(recipe, setup)

    def sizes(self, recipe: ClassificationRecipe) -> dict[str, str]:
        """Return the longest input."""
        return {"maximum input": f"{recipe.model.source_length:,} tokens"}

    @property
    def evaluate(self) -> "Callable[..., Evaluation]":
        """Function that scores the labels that a classifier gives."""
        from sumpool.tasks.classification.classify import evaluate_classifier

        return evaluate_classifier


TASK = ClassificationTask()
