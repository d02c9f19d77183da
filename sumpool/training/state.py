"""Where a run stands."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sumpool.errors import CheckpointError
from sumpool.training.data_order import Position


@dataclass(frozen=True)
class TrainingState:
    """Where a run stands; with weights and moments, all that it goes on from.

    Attributes:
        step: Updates made.
        place: Where in the documents.
        best_loss: Lowest validation loss so far, nats per token; None before the first validation.
        best_step: Step of that validation; 0 before it.
        stale_validations: Validations since then.
    """

    step: int = 0
    place: Position = field(default_factory=Position)
    best_loss: float | None = None
    best_step: int = 0
    stale_validations: int = 0

    @classmethod
    def from_json(cls, entries: Mapping[str, Any]) -> "TrainingState":
        """Read what `asdict` made.

        Raises:
            CheckpointError: If it is something else.
        """
        try:
            return cls(**{**entries, "place": Position(**entries["place"])})
        except (TypeError, LookupError) as error:
            raise CheckpointError(f"a checkpoint must hold the state of a run, got {dict(entries)!r}") from error

    def after_validation(self, loss: float) -> "TrainingState":
        """Take note of a validation loss."""
        if self.best_loss is None or loss < self.best_loss:
            return replace(self, best_loss=loss, best_step=self.step, stale_validations=0)
        return replace(self, stale_validations=self.stale_validations + 1)
