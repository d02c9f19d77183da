"""Settings of `sumpool bench trainer`."""

from typing import Annotated, Literal

from pydantic import Field

from sumpool.settings import Settings


class TrainerConfig(Settings):
    """Training of LED beside a run; every other setting is that of the run's recipe."""

    seconds: Annotated[float, Field(gt=0, le=1_000_000)] | Literal["auto"] = "auto"
    """Time of its updates; auto is that of the run's updates."""
    learning_rate: Annotated[float, Field(gt=0, le=1_000_000)] | Literal["auto"] = "auto"
    """Its peak learning rate; auto is that of the run."""
    loss: Annotated[float, Field(gt=0, le=1_000_000)] | Literal["auto"] = "auto"
    """Validation loss to which the seconds are counted, nats per token; auto is the worse last one of the two."""
    split: Literal["validation", "test"] = "validation"
    """Documents whose summaries are scored."""
