"""Recipes of language models: their data with its report, and their evaluation."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from sumpool.core.boundaries import BoundariesConfig
from sumpool.core.nn.layers import Activation
from sumpool.data.config import SPLITS, PreparedDataConfig, Split
from sumpool.data.report import PreparedReport
from sumpool.progress import Check, Report
from sumpool.recipe.schema import BaseRecipe
from sumpool.settings import OneOf, Settings
from sumpool.tasks.language_modeling.running_text import RunningTextConfig
from sumpool.tasks.language_modeling.sources import TextSourceConfig
from sumpool.training.config import TrainConfig


class LanguageModelConfig(Settings):
    """Transformer over characters, whose middle layers may see one vector per segment.

    The default is the published model without shortening, 12 layers of Transformer-XL attention. With `layers: [2, 8,
    2]` and one entry of `boundaries` the eight middle layers work on segments; each further pair of layers and entry
    of `boundaries` shortens the segments once more (Hourglass).
    """

    dim: int = Field(512, ge=2, le=8192)
    """Features of a state (d_model)."""
    heads: int = Field(8, ge=1, le=128)
    """Attention heads; must divide dim."""
    feed_forward: int = Field(2048, ge=1, le=65536)
    """Width of the feed-forward layers."""
    activation: Activation = "gelu"
    """Non-linearity of the feed-forward layers; GELU as in the released code."""
    layers: tuple[Annotated[int, Field(ge=0, le=256)], ...] = Field((12,), min_length=1, max_length=15)
    """Layers before, between and after the shortenings: one number more than two for each entry of `boundaries`."""
    boundaries: tuple[Annotated[BoundariesConfig, OneOf("sumpool.core.boundaries")], ...] = ()
    """Ends of the segments, outermost shortening first; none is the plain Transformer."""
    combine: Literal["mean", "last"] = "mean"
    """State of a segment: the mean of those of its tokens, or the last of them (sub-sampling, appendix A), by which
    `gumbel` boundaries learn from their prior alone."""
    positions: Literal["relative", "sinusoidal"] = "relative"
    """Positions: relative in every attention, as in Transformer-XL, or absolute ones added to the embeddings."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on embeddings, position encodings, and the output of every sub-layer."""
    attention_dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on attention weights."""
    length: int = Field(2048, ge=1, le=10_000_000)
    """Tokens of a training window."""
    seed: int = Field(0, ge=0, le=2**31 - 1)
    """Seed of the draws that `random` boundaries, and sampled ones in evaluation, take for each position."""

    @property
    def boundary_losses(self) -> tuple[str, ...]:
        """Auxiliary losses that train the boundaries."""
        supervised = any("boundaries" in boundaries.losses for boundaries in self.boundaries)
        return ("boundaries",) if supervised else ()

    @model_validator(mode="after")
    def _layers_suit_boundaries(self) -> Self:
        expected = 2 * len(self.boundaries) + 1
        if len(self.layers) != expected:
            raise ValueError(
                f"layers must have {expected} numbers for {len(self.boundaries)} boundaries, got {list(self.layers)}"
            )
        if self.dim % self.heads:
            raise ValueError(f"heads must divide dim = {self.dim}, got {self.heads}")
        if self.dim % 2:
            raise ValueError(f"dim must be even for {self.positions} positions, got {self.dim}")
        for level, boundaries in enumerate(self.boundaries):
            if not boundaries.causal:
                raise ValueError(
                    f"boundaries[{level}] must be known without later tokens, got kind {boundaries.kind}"
                    + (" with inference: expected" if boundaries.kind == "gumbel" else "")
                )
            if level and boundaries.supervised:
                raise ValueError(
                    f"boundaries[{level}] must need no targets, only boundaries[0] has any, got kind {boundaries.kind}"
                )
        return self


class TextDataConfig(PreparedDataConfig):
    """Source and preparation of running text."""

    source: TextSourceConfig
    """Source of the text."""
    clean: RunningTextConfig | None = None
    """Normalization in the manner of text8: lower-case letters of one alphabet, digits as words; null keeps the text.
    """
    max_characters: int | None = Field(None, ge=1)
    """Characters of the source that are read; those of training if splits have their own files. Null reads all."""
    max_evaluation_characters: int | None = Field(None, ge=1)
    """Characters that are read of files of validation and of test, each; null reads all."""
    validation_share: float = Field(0.05, gt=0, le=0.5)
    """Fraction of a text without files per split that is used for validation, before that of test at its end."""
    test_share: float = Field(0.05, gt=0, le=0.5)
    """Fraction of such a text that is used for testing."""
    vocabulary_size: int = Field(8000, ge=300, le=256_000)
    """Most characters of the vocabulary."""
    vocabulary_from: Literal["train", "all"] = "train"
    """Text that the vocabulary is made from: that of training, or all, as in the released code of Nawrot et al. (2023).
    """
    subwords: int = Field(0, ge=0, le=1_000_000)
    """Unigram subwords of words that teach `unigram` boundaries; 0: none."""

    def require_source(self) -> TextSourceConfig:
        """Return the source."""
        return self.source

    def described(self) -> dict[str, Any]:
        """Return the settings that the prepared data depends on; the tokenizer is described by its content."""
        settings = self.model_dump(mode="json", exclude={"tokenizer", "prepared", "verify"})
        return {"task": "language_modeling", **settings}

    def prepare(self, folder: Path, *, skip_bad_rows: bool, report: Report, check: Check) -> None:
        """Fill a new folder with the prepared text, but for its manifest."""
        from sumpool.tasks.language_modeling.prepare import prepare_text

        prepare_text(self, folder, skip_bad_rows=skip_bad_rows, report=report, check=check)


@dataclass(frozen=True)
class TextSplitReport:
    """Counts of a split.

    Attributes:
        documents: Documents; those of a text that is divided by position are all counted for training.
        words: Words between white space.
        tokens: Tokens, which are characters.
        unknown: Characters that are not in the vocabulary.
        boundaries: Boundaries of the subwords that teach; 0 without.
    """

    documents: int
    words: int
    tokens: int
    unknown: int
    boundaries: int


@dataclass(frozen=True)
class TextReport(PreparedReport):
    """Counts of prepared running text.

    Attributes:
        splits: Counts of each split.
    """

    splits: Mapping[Split, TextSplitReport]

    def rows(self) -> list[tuple[str, ...]]:
        """Return the report as a table: a heading, then a label and the value of each split per row."""
        splits = [self.splits[split] for split in SPLITS]
        rows: list[tuple[str, ...]] = [("", *SPLITS)]
        for name in ("documents", "words", "tokens", "unknown"):
            rows.append((name, *(f"{getattr(split, name):,}" for split in splits)))
        if any(split.boundaries for split in splits):
            lengths = (split.tokens / max(split.boundaries, 1) for split in splits)
            rows.append(("tokens per segment of the teacher", *(f"{length:.2f}" for length in lengths)))
        return rows

    def facts(self) -> dict[str, str]:
        """Return what describes the data of a run, by name."""
        tokens = ", ".join(f"{split} {part.tokens:,}" for split, part in self.splits.items())
        return {"tokens": tokens, "vocabulary": f"{self.vocabulary:,} tokens"}


class TextEvaluationConfig(Settings):
    """Windows of the evaluated text, and confidence intervals."""

    protocol: Literal["whole", "released"] = "whole"
    """Windows: `whole` predicts every token of the text but the first, `released` divides it into 16 streams, drops the
    remainder and stops after 500 windows of each, as the released code of Nawrot et al. does."""
    window: int = Field(2048, ge=2, le=10_000_000)
    """Tokens that a window reads."""
    step: int = Field(512, ge=1, le=10_000_000)
    """Tokens that a window predicts, those after its last ones; windows move by as many."""
    batch_tokens: int = Field(32_768, ge=1, le=1_000_000_000)
    """Tokens that are scored at once; a longer window is scored alone."""
    resamples: int = Field(1000, ge=100, le=100_000)
    """Resamples of the bootstrap over windows for 95 % intervals, and of the paired tests."""
    sample: int = Field(400, ge=0, le=100_000)
    """Tokens at the beginning of the text whose segments are shown."""

    @model_validator(mode="after")
    def _windows_overlap(self) -> Self:
        if self.step > self.window:
            raise ValueError(f"step must be at most window = {self.window}, got {self.step}")
        return self


class TextTrainConfig(TrainConfig):
    """Settings of the training of a language model; a document is a window of `model.length` tokens here."""

    rotate: float = Field(0.0, ge=0, le=1)
    """Share of epochs that begin at a random token of the text, 1 in the released code of Nawrot et al. (2023)."""


class LanguageModelRecipe(BaseRecipe):
    """Complete configuration of a language model's run: `task: language_modeling`."""

    task: Literal["language_modeling"]
    """What the model learns: the next character of running text."""
    data: TextDataConfig
    """Source of the running text, and its preparation."""
    model: LanguageModelConfig = LanguageModelConfig()
    """Architecture of the model."""
    train: TextTrainConfig = TextTrainConfig()
    """Training, as for summaries."""
    evaluate: TextEvaluationConfig = TextEvaluationConfig()
    """Evaluation: bits per character, shortening factor, segments."""
    bench: dict[str, Any] | None = None
    """Settings of `sumpool bench`, which validates them."""

    @model_validator(mode="after")
    def _training_suits_text(self) -> Self:
        if any(boundaries.requires_phrases for boundaries in self.model.boundaries) and not self.data.subwords:
            raise ValueError(
                "data.subwords must be the number of subwords that teach model.boundaries, got 0; the paper has 10000 "
                "for English, 200 for Finnish"
            )
        losses = self.model.boundary_losses
        self._require_losses({*losses})
        self._require_loss_weights(losses, "model.boundaries learn", "1 is usual, and 0 leaves a loss out")
        if self.train.teacher:
            raise ValueError(f"train.teacher must be null for task: language_modeling, got {self.train.teacher}")
        return self
