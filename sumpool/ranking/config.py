"""Settings of the sentence ranker, section `select` of a recipe, and of the selection of content by one."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from sumpool.io.manifest import SHIPPED
from sumpool.settings import Settings


class RankingConfig(Settings):
    """Sentence ranker, trained on the sentences of documents with summaries."""

    enabled: bool = True
    """Whether `sumpool train` fits a ranker; the shipped one serves `summarize` otherwise."""
    documents: int = Field(1000, ge=1, le=1_000_000_000)
    """Documents of the training split at most that the ranker is fitted to; of more a sample is taken."""
    trees: int = Field(300, ge=1, le=100_000)
    """Trees over structure and words, and as many over marks of readers."""
    marks: Path | None = None
    """Folder of sheets that readers have filled in, see `sumpool mark`, from which the ranker learns what to choose."""


class ContentSelectionConfig(Settings):
    """Reduction of documents that are longer than the input of a model to their best sentences."""

    tokens: int = Field(ge=16, le=10_000_000)
    """Tokens that a document keeps at most, those of `model.source_length`."""
    ranker: Path | None = None
    """Run folder whose sentence ranker chooses the sentences; null takes the shipped one."""
    training: Literal["reference", "ranker"] = "reference"
    """Choice of the sentences of training documents: the pairs of words that the reference has too (ROUGE-2 recall), at
    random where it has none, as published; or the ranker, as for validation and test."""

    @property
    def ranker_folder(self) -> Path:
        """Folder of the ranker."""
        return self.ranker or SHIPPED
