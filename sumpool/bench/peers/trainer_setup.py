"""Data, settings and time of the training of a peer, and what comes of it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from sumpool.bench.peers.led import led_batch, led_example
from sumpool.bench.systems.workload import Conditions
from sumpool.core.model.config import ModelConfig
from sumpool.data.items import Item
from sumpool.training.config import TrainConfig
from sumpool.training.data_order import TrainingData
from sumpool.training.optimizer import schedule_factor


@dataclass(frozen=True)
class TrainerSetup:
    """Data, settings and time of a training.

    LED has the sizes of `config`. It is trained for `seconds` of updates, with `batch` documents at once, and validated
    at `shares` of that time, ascending; the last one is 1.
    """

    config: ModelConfig
    train: TrainConfig
    data: TrainingData
    batch: int
    seconds: float
    shares: Sequence[float]
    conditions: Conditions

    def rate(self, share: float) -> float:
        """Share of the peak learning rate at a share of the time."""
        return schedule_factor(int(share * self.train.steps), self.train.schedule, self.train.steps)

    def longest(self) -> list[int]:
        """Indices of the documents of a batch of the longest, as they are read."""
        read = np.minimum(self.data.training.lengths, self.config.source_length)
        return [int(index) for index in np.argsort(-read, kind="stable")[: self.batch]]

    def collate(self, items: Sequence[Item]) -> dict[str, Tensor]:
        """Inputs of LED for some documents."""
        special_tokens = self.data.special_tokens
        return led_batch([led_example(item, self.config, special_tokens) for item in items], special_tokens.pad)


@dataclass(frozen=True)
class TrainerResult:
    """A trained LED, with the weights that were best on validation.

    `losses` are seconds of updates before each validation and its loss in nats per token; the speed is of source tokens
    without padding; and peak memory of an update with the longest batch, in bytes beside weights and moments.
    """

    model: Any
    parameters: int
    losses: tuple[tuple[float, float], ...]
    tokens_per_second: tuple[float, ...]
    peak_memory: int | None


@dataclass
class TrainingClock:
    """Stopwatch of the updates; a validation is due at each share of the limit, in seconds, and at its end."""

    limit: float
    due: Sequence[float]
    now: Callable[[], float] = time.perf_counter
    _gone: float = 0.0
    _since: float | None = None

    def start(self) -> None:
        """Start the clock."""
        self._since = self.now()

    def stop(self) -> None:
        """Stop the clock."""
        self._gone, self._since = self.seconds, None

    @property
    def seconds(self) -> float:
        """Seconds that it has run."""
        return self._gone + (0.0 if self._since is None else self.now() - self._since)

    @property
    def share(self) -> float:
        """Share of the time that is gone."""
        return min(1.0, self.seconds / self.limit)

    def is_due(self) -> bool:
        """Whether a validation is due; all that were missed are due together."""
        before, self.due = self.due, [share for share in self.due if share > self.share]
        return len(self.due) < len(before) or self.share >= 1
