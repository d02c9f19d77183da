"""Where a run stands."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sumpool.errors import CheckpointError
from sumpool.training.feed import Place


@dataclass(frozen=True)
class State:
    """Where a run stands; with weights and moments, all that it goes on from.

    Attributes:
        step: Updates made.
        place: Where in the documents.
        best_loss: Lowest validation loss so far, nats per token; None before the first validation.
        best_step: Step of that validation; 0 before it.
        waited: Validations since then.
    """

    step: int = 0
    place: Place = field(default_factory=Place)
    best_loss: float | None = None
    best_step: int = 0
    waited: int = 0

    @classmethod
    def from_json(cls, entries: Mapping[str, Any]) -> "State":
        """Read what `asdict` made.

        Raises:
            CheckpointError: If it is something else.
        """
        try:
            return cls(**{**entries, "place": Place(**entries["place"])})
        except (TypeError, LookupError) as error:
            raise CheckpointError(f"a checkpoint must hold the state of a run, got {dict(entries)!r}") from error

    def after_validation(self, loss: float) -> "State":
        """Take note of a validation loss."""
        if self.best_loss is None or loss < self.best_loss:
            return replace(self, best_loss=loss, best_step=self.step, waited=0)
        return replace(self, waited=self.waited + 1)
