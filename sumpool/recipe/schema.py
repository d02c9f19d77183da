"""A whole recipe: one section per package. Only the command line and the workflows ever see it."""

from pydantic import Field

from sumpool.bench.config import BenchConfig
from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.model.config import ModelConfig
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
