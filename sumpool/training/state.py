"""State of a training run."""

import math
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
        best_loss: Validation loss of the best weights so far, nats per token; None before the first validation.
        best_step: Step of the best weights; 0 before the first validation.
        best_score: ROUGE of the best weights, from 0 to 100; None if they are selected by their loss.
        stale_validations: Validations since `best_step`.
    """

    step: int = 0
    position: Position = field(default_factory=Position)
    best_loss: float | None = None
    best_step: int = 0
    stale_validations: int = 0
    best_score: float | None = None

    @classmethod
    def from_json(cls, entries: Mapping[str, Any]) -> "TrainingState":
        """Inverse of `dataclasses.asdict`.

        Raises:
            CheckpointError: If the entries are not those of a state.
        """
        try:
            state = cls(**{**entries, "position": Position(**entries["position"])})
        except (TypeError, LookupError) as error:
            raise CheckpointError(f"a checkpoint must hold the state of a run, got {entries!r:.200}") from error
        counts = (state.step, state.best_step, state.stale_validations, state.position.epoch, state.position.batch)
        scores = [score for score in (state.best_loss, state.best_score) if score is not None]
        are_counts = all(type(count) is int and 0 <= count < 1 << 63 for count in counts)
        if not are_counts or not all(type(score) in (int, float) and math.isfinite(score) for score in scores):
            raise CheckpointError(f"a checkpoint must hold numbers of steps and finite scores, got {entries!r:.200}")
        return state

    def after_validation(self, loss: float, score: float | None = None) -> "TrainingState":
        """State after a validation: the best weights have the highest score, or without scores the lowest loss."""
        if score is None:
            is_best = self.best_loss is None or loss < self.best_loss
        else:
            is_best = self.best_score is None or score > self.best_score
        if is_best:
            return replace(self, best_loss=loss, best_step=self.step, stale_validations=0, best_score=score)
        return replace(self, stale_validations=self.stale_validations + 1)
