"""Recipe schema, one section per package; only the command line and the workflows use it as a whole."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from pydantic import Field, model_validator

from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.model.config import ModelConfig
from sumpool.data.config import DataConfig
from sumpool.evaluation.config import EvaluationConfig
from sumpool.ranking.config import RankingConfig
from sumpool.settings import Settings
from sumpool.training.config import Task, TrainConfig


class RunRecipe(Protocol):
    """Recipe of any task, as training and run folders use it."""

    @property
    def name(self) -> str:
        """Name of the run."""

    @property
    def task(self) -> str:
        """Kind of the training."""

    @property
    def seed(self) -> int:
        """Seed of all random numbers."""

    @property
    def train(self) -> TrainConfig:
        """Settings of training."""

    def model_dump(self, *, mode: str = ..., exclude_none: bool = ...) -> dict[str, Any]:
        """Return the settings as plain data."""


class Recipe(Settings):
    """Complete configuration of a run."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    """Name of the run; also the default name of its folders."""
    task: Task = "summarization"
    """What the model learns: to summarise documents, or to classify them by the labels of `data.source`."""
    seed: int = Field(1, ge=0, lt=2**31)
    """Seed of all random numbers: initial weights, data order, dropout."""
    data: DataConfig
    """Source of the documents, and their preparation."""
    model: ModelConfig
    """Architecture of the model."""
    train: TrainConfig = TrainConfig()
    """Training: batches, optimizer, schedule, checkpoints."""
    select: RankingConfig = RankingConfig()
    """Sentence ranker: its training after that of the model."""
    summarize: DecodingConfig = DecodingConfig()
    """Generation of summaries."""
    evaluate: EvaluationConfig = EvaluationConfig()
    """Scoring of summaries."""
    bench: dict[str, Any] | None = None
    """Settings of `sumpool bench`, which validates them."""

    @property
    def prepared_folder(self) -> Path:
        """Folder for new prepared data: `data.prepared`, by default `prepared/<name>`; equal data may be elsewhere."""
        return self.data.prepared or Path("prepared") / self.name

    @property
    def _has_decoder(self) -> bool:
        return self.task == "summarization"

    @model_validator(mode="after")
    def _boundaries_can_be_trained(self) -> Self:
        for number, layer in enumerate(self.model.encoder):
            path = f"model.encoder[{number}].pool.boundaries"
            if layer.pool and layer.pool.requires_phrases and not self.data.phrases:
                tokens = self.data.vocabulary
                raise ValueError(
                    f"data.phrases must be above data.vocabulary{f' = {tokens}' if tokens else ''}, got 0; they teach "
                    f"{path}, and {5 * tokens if tokens else 'five times as many'} are a good start"
                )
            if layer.pool:
                advice = f"{path} learn", "1 is usual, and 0 leaves a loss out"
                self._require_loss_weights(layer.pool.boundary_losses, *advice)
        return self

    @model_validator(mode="after")
    def _selections_can_be_trained(self) -> Self:
        advice = (
            "model.decoder.cross_attention.selection learns",
            "0.1 is a good start, and 0 leaves the loss out",
        )
        if self._has_decoder:
            self._require_loss_weights(self.model.decoder.cross_attention.selection_losses, *advice)
        return self

    @model_validator(mode="after")
    def _coverage_can_be_trained(self) -> Self:
        advice = "model.output learns coverage", "1 is usual after a training without it"
        if self._has_decoder:
            self._require_loss_weights(self.model.output.pointer_losses, *advice)
        return self

    @model_validator(mode="after")
    def _weights_name_losses(self) -> Self:
        losses = self.model.encoder_losses | (self.model.decoder_losses if self._has_decoder else frozenset())
        unknown = sorted(self.train.loss_weights.keys() - losses)
        if unknown:
            raise ValueError(
                f"train.loss_weights must name losses of the model ({', '.join(sorted(losses)) or 'it has none'}), "
                f"got {', '.join(unknown)}"
            )
        return self

    @model_validator(mode="after")
    def _summaries_have_room(self) -> Self:
        tokens, vocabulary = self.summarize.begin_with, self.data.vocabulary
        beyond = [token for token in tokens if vocabulary and token >= vocabulary]
        if beyond:
            raise ValueError(
                f"summarize.begin_with must hold ids below data.vocabulary = {vocabulary}, got {beyond[0]}"
            )
        longest, least = self.model.target_length, self.summarize.min_length
        if len(tokens) >= longest:
            raise ValueError(
                f"summarize.begin_with must be shorter than model.target_length = {longest}, EOS included, got "
                f"{len(tokens)} tokens"
            )
        if least != "auto" and least >= longest:
            raise ValueError(
                f"summarize.min_length must be below model.target_length = {longest}, EOS included, got {least}"
            )
        return self

    @model_validator(mode="after")
    def _settings_suit_the_task(self) -> Self:
        documents = self.data.source.labelled_documents if self.data.source else 0
        if self.task == "classification":
            self._require_labels(documents)
        elif documents:
            raise ValueError("task must be classification where data.source has labels, got summarization")
        elif self.data.units or self.model.classifier or self.train.select_by == "accuracy":
            names = {"data.units": self.data.units, "model.classifier": self.model.classifier}
            named = [name for name, value in names.items() if value] or ["train.select_by=accuracy"]
            raise ValueError(f"task must be classification with {named[0]}, got summarization")
        return self

    def _require_labels(self, documents: int) -> None:
        if not documents:
            kind = self.data.source.kind if self.data.source else "no source"
            raise ValueError(f"data.source.kind must be labelled for task: classification, got {kind}")
        towers = self.model.classifier.towers if self.model.classifier else 1
        if towers != documents:
            raise ValueError(
                f"model.classifier.towers must be {documents}, the documents of a row, got {towers}; "
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
        if self.train.select_by.startswith("rouge"):
            raise ValueError(f"train.select_by must be loss or accuracy, got {self.train.select_by}")

    def _require_loss_weights(self, losses: Sequence[str], learner: str, advice: str) -> None:
        unweighted = [name for name in losses if name not in self.train.loss_weights]
        if unweighted:
            raise ValueError(
                f"train.loss_weights must name {' and '.join(unweighted)}, by which {learner}, got "
                f"{', '.join(self.train.loss_weights) or 'nothing'}; {advice}"
            )
