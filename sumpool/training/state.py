"""State of a training run."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sumpool.errors import CheckpointError
from sumpool.training.data_order import Position


@dataclass(frozen=True)
class TrainingState:
    """State of a run; together with weights and moments, everything needed to resume.

    Attributes:
        step: Updates made.
        position: Position in the training data.
        best_loss: Lowest validation loss so far, nats per token; None before the first validation.
        best_step: Step of the lowest validation loss; 0 before the first validation.
        stale_validations: Validations since `best_step`.
    """

    step: int = 0
    position: Position = field(default_factory=Position)
    best_loss: float | None = None
    best_step: int = 0
    stale_validations: int = 0

    @classmethod
    def from_json(cls, entries: Mapping[str, Any]) -> "TrainingState":
        """Inverse of `dataclasses.asdict`.

        Raises:
            CheckpointError: If the entries are not those of a state.
        """
        try:
            return cls(**{**entries, "position": Position(**entries["position"])})
        except (TypeError, LookupError) as error:
            raise CheckpointError(f"a checkpoint must hold the state of a run, got {dict(entries)!r}") from error

    def after_validation(self, loss: float) -> "TrainingState":
        """State after a validation with this loss."""
        if self.best_loss is None or loss < self.best_loss:
            return replace(self, best_loss=loss, best_step=self.step, stale_validations=0)
        return replace(self, stale_validations=self.stale_validations + 1)
