"""Settings of the sentence ranker, section `select` of a recipe, and of the selection of content by one."""

from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import Field

from sumpool.settings import Settings


class BoostingConfig(Settings):
    """Gradient boosted trees."""

    trees: int = Field(300, ge=1, le=100_000)
    """Trees."""
    leaves: int = Field(16, ge=2, le=1024)
    """Leaves of a tree at most."""
    learning_rate: float = Field(0.06, gt=0, le=1)
    """Share of a tree's prediction that is added."""
    min_rows: int = Field(60, ge=1, le=1_000_000_000)
    """Sentences of a leaf at least, by their weights with mean 1."""
    subsample: float = Field(0.5, gt=0, le=1)
    """Share of the sentences that each tree is fitted to."""
    columns: float = Field(0.5, gt=0, le=1)
    """Share of the features that each tree may use."""
    ridge: float = Field(5.0, ge=0, le=1_000_000)
    """Penalty of large values of leaves, in sentences."""


class RankingConfig(Settings):
    """Sentence ranker, trained on the sentences of documents with summaries."""

    enabled: bool = True
    """Whether `sumpool train` fits a ranker; the shipped one serves `summarize` otherwise."""
    documents: int = Field(1000, ge=1, le=1_000_000_000)
    """Documents of the training split at most that the ranker is fitted to; of more a sample is taken."""
    sentences: int = Field(150, ge=10, le=1_000_000)
    """Sentences of a document at most; of more those with the highest labels and a sample of the others are taken."""
    cues: int = Field(4000, ge=0, le=1_000_000)
    """Cue words and pairs of words that are learnt at most."""
    min_documents: int = Field(20, ge=1, le=1_000_000_000)
    """Documents that a cue occurs in at least."""
    ridge: float = Field(30.0, gt=0, le=1_000_000)
    """Penalty of large weights of cues."""
    seed: int = Field(1, ge=0, lt=2**31)
    """Seed of the samples."""
    boosting: BoostingConfig = BoostingConfig()
    """Trees over structure and words."""
    marks: Path | None = None
    """Folder of sheets that readers have filled in, see `sumpool mark`, from which the ranker learns what to choose."""
    choice: BoostingConfig = BoostingConfig(learning_rate=0.05, min_rows=30, columns=0.4, subsample=0.7)
    """Trees over marks of readers."""


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
        return self.ranker or Path(str(files("sumpool").joinpath("shipped")))
