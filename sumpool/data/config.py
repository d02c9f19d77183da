"""Where documents come from and how they are prepared: the `data` section of a recipe."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from sumpool.data.sources._base import SourceConfig
from sumpool.errors import RecipeError
from sumpool.settings import Settings
from sumpool.variants import OneOf


class DataConfig(Settings):
    """One set of documents with summaries."""

    source: Annotated[SourceConfig, OneOf("sumpool.data.sources")] | None = None
    """Where the documents and their summaries are; only an imported model has none."""
    prepared: Path | None = None
    """Folder of the prepared data; by default prepared/<name of the recipe>."""
    vocabulary: int = Field(8000, ge=300, le=256000)
    """Pieces of the vocabulary, the 256 bytes included."""
    phrases: int = Field(0, ge=0, le=1_000_000)
    """Phrases, single pieces included, that are learnt to teach `unigram` boundaries; 0 learns none."""
    workers: int = Field(2, ge=1)
    """Processes that prepare documents."""

    @model_validator(mode="after")
    def _phrases_hold_pieces(self) -> Self:
        if 0 < self.phrases <= self.vocabulary:
            raise ValueError(f"phrases must be 0 or more than vocabulary = {self.vocabulary}, got {self.phrases}")
        return self

    def documents(self) -> SourceConfig:
        """Say where the documents are, as preparing them needs it.

        Raises:
            RecipeError: If the recipe does not say it.
        """
        if self.source is None:
            raise RecipeError(
                "data.source must say where the documents and their summaries are, got nothing: an imported model has "
                "none of its own; train a recipe with a source and with train.init_from naming the model"
            )
        return self.source
