"""Recipes of classifiers: those of summarisers, but for labels instead of summaries and a head instead of a decoder."""

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from sumpool.recipe.schema import Recipe
from sumpool.tasks.classification.labels import LabelledDataConfig
from sumpool.tasks.classification.model import ClassificationModelConfig


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
        for name, value in {**without, "train.rotate": self.train.rotate}.items():
            if value:
                raise ValueError(f"{name} must be left out of task: classification, got {value}")
        if self.train.distillation == "sequence":
            raise ValueError(
                "train.distillation must be word for task: classification, got sequence; it has no summaries"
            )
        return self
