"""A whole recipe: one section per package. Only the command line and the workflows ever see it."""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from sumpool.bench.config import BenchConfig
from sumpool.core.boundaries.unigram import UnigramBoundariesConfig
from sumpool.core.cross_attention.sentence import SentenceCrossAttentionConfig
from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.model.config import ModelConfig
from sumpool.core.pooling.segments import SegmentsPoolerConfig
from sumpool.core.selection.approximate import ApproximateSelectionConfig
from sumpool.data.config import DataConfig
from sumpool.evaluation.config import EvaluationConfig
from sumpool.settings import Settings
from sumpool.training.config import TrainConfig


class Recipe(Settings):
    """Everything that a run depends on."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    """Name of the run and of its folders."""
    seed: int = Field(1, ge=0, lt=2**31)
    """Seed of everything random."""
    data: DataConfig
    """Where documents come from and how they are prepared."""
    model: ModelConfig
    """The model."""
    train: TrainConfig = TrainConfig()
    """The training run."""
    summarize: DecodingConfig = DecodingConfig()
    """How summaries are written."""
    evaluate: EvaluationConfig = EvaluationConfig()
    """How summaries are scored."""
    bench: BenchConfig = BenchConfig()
    """What is measured."""

    @property
    def prepared_folder(self) -> Path:
        """Folder of the prepared data: `data.prepared`, by default `prepared/<name>`."""
        return self.data.prepared or Path("prepared") / self.name

    @model_validator(mode="after")
    def _boundaries_can_learn(self) -> Self:
        for number, layer in enumerate(self.model.encoder):
            if not isinstance(layer.pool, SegmentsPoolerConfig):
                continue
            boundaries, path = layer.pool.boundaries, f"model.encoder[{number}].pool.boundaries"
            if isinstance(boundaries, UnigramBoundariesConfig) and not self.data.phrases:
                pieces = self.data.vocabulary
                raise ValueError(
                    f"data.phrases must be above data.vocabulary{f' = {pieces}' if pieces else ''}, got 0; they teach "
                    f"{path}, and {5 * pieces if pieces else 'five times as many'} are a good start"
                )
            unweighed = [name for name in boundaries.losses if name not in self.train.loss_weights]
            if unweighed:
                raise ValueError(
                    f"train.loss_weights must name {' and '.join(unweighed)}, by which {path} learn, got "
                    f"{', '.join(self.train.loss_weights) or 'nothing'}; 1 is usual, and 0 leaves a loss out"
                )
        return self

    @model_validator(mode="after")
    def _selections_can_learn(self) -> Self:
        path = "model.decoder.cross_attention"
        attention = self.model.decoder.cross_attention
        if not isinstance(attention, SentenceCrossAttentionConfig) or not isinstance(
            attention.selection, ApproximateSelectionConfig
        ):
            return self
        if "selection" not in self.train.loss_weights:
            raise ValueError(
                f"train.loss_weights must name selection, by which {path}.selection learns, got "
                f"{', '.join(self.train.loss_weights) or 'nothing'}; 0.1 is a good start, and 0 leaves the loss out"
            )
        return self
