"""What a model of transformers is given to learn as a run of ours did, by the clock, and what comes back.

Its time is that of updates alone: the clock stands still while it is validated, as it does for a run. The learning rate
goes by the share of the time that is gone, since nobody knows beforehand how many updates fit into it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, final

import numpy as np
from pydantic import Field

from sumpool.bench.systems.workload import Conditions
from sumpool.core.model.config import ModelConfig
from sumpool.data.batches import Item
from sumpool.settings import Settings

Share = float
"""Of the time, from 0 to 1."""


class TrainerConfig(Settings):
    """How a model of transformers learns beside a run; whatever is not here is that of the run's recipe."""

    seconds: Annotated[float, Field(gt=0)] | Literal["auto"] = "auto"
    """Time of its updates; auto is that of the run's updates."""
    learning_rate: Annotated[float, Field(gt=0)] | Literal["auto"] = "auto"
    """Its peak learning rate; auto is that of the run."""
    loss: Annotated[float, Field(gt=0)] | Literal["auto"] = "auto"
    """Validation loss to which the seconds are counted, nats per token; auto is the worse last one of the two."""
    split: Literal["validation", "test"] = "validation"
    """Documents whose summaries are scored; those of a sweep are of validation."""


class Items(Protocol):
    """Documents with summaries, by number; `Shard` is one."""

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each document: (documents,)."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int, /) -> Item: ...


@dataclass(frozen=True)
class Descent:
    """How AdamW goes.

    Attributes:
        learning_rate: At the peak.
        rate: The share of the peak by the share of the time that is gone.
        betas: Its decay rates.
        weight_decay: Of matrices.
        clip: Largest norm of the gradient; 0 is off.
        label_smoothing: Share of the target's probability that is spread over the vocabulary.
    """

    learning_rate: float
    rate: Callable[[Share], float]
    betas: tuple[float, float]
    weight_decay: float
    clip: float
    label_smoothing: float


@dataclass(frozen=True)
class Lessons:
    """What a model learns from, for how long, and when it is judged by what.

    Attributes:
        config: Our model, whose sizes it has.
        training: Documents to learn from.
        validation: Batches of documents to judge by.
        batch: Documents of a batch to learn from.
        accumulate: Batches of an update.
        descent: How it learns.
        seconds: Time of its updates.
        shares: When it is judged, ascending; the last one is 1.
        conditions: Vocabulary, device, precision and seed.
    """

    config: ModelConfig
    training: Items
    validation: Sequence[Sequence[Item]]
    batch: int
    accumulate: int
    descent: Descent
    seconds: float
    shares: Sequence[Share]
    conditions: Conditions

    def longest(self) -> list[int]:
        """A batch of the longest documents, as they are read."""
        read = np.minimum(self.training.lengths, self.config.source_length)
        return [int(number) for number in np.argsort(-read, kind="stable")[: self.batch]]


@dataclass(frozen=True)
class Learnt:
    """What became of it.

    Attributes:
        model: It, of transformers, with the weights that were best on validation.
        parameters: Numbers that it learns.
        updates: How many were made.
        losses: Seconds of updates before each validation, and its loss in nats per token.
        tokens_per_second: Source tokens per second of each update, padding not counted.
        peak_memory: Bytes that an update with its longest batch needs beside weights and moments; None where nobody
            can know.
    """

    model: Any
    parameters: int
    updates: int
    losses: tuple[tuple[float, float], ...]
    tokens_per_second: tuple[float, ...]
    peak_memory: int | None

    @property
    def loss(self) -> float:
        """The best one, of the weights that it has."""
        return min(loss for _, loss in self.losses)


@final
class Course:
    """A clock that runs while it is told to, and says when a validation is due and when all is over."""

    def __init__(self, seconds: float, shares: Sequence[Share], now: Callable[[], float] = time.perf_counter) -> None:
        """Set it to nothing gone; it stands.

        Args:
            seconds: When it is over.
            shares: When validations are due, ascending; what they leave open at the end is due there.
            now: Gives seconds since any moment.
        """
        self._all = seconds
        self._due = list(shares)
        self._now = now
        self._gone = 0.0
        self._since: float | None = None

    def go(self) -> None:
        """Let it run from here on."""
        self._since = self._now()

    def stop(self) -> None:
        """Let it stand."""
        self._gone, self._since = self.seconds, None

    @property
    def seconds(self) -> float:
        """For how long it has run."""
        return self._gone + (0.0 if self._since is None else self._now() - self._since)

    @property
    def share(self) -> Share:
        """How much of the time is gone."""
        return min(1.0, self.seconds / self._all)

    @property
    def over(self) -> bool:
        """Whether all of it is."""
        return self.share >= 1

    def is_due(self) -> bool:
        """Whether a validation is due, and take note of it: those that were missed are due together."""
        waiting = [share for share in self._due if share > self.share]
        found = len(waiting) < len(self._due) or self.over
        self._due = waiting
        return found
