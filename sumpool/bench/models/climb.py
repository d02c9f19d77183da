"""One system at one work, length by length: what shorter documents took foretells the next."""

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace

import torch

from sumpool.bench.measures.cost import count
from sumpool.bench.measures.timing import Work, clock
from sumpool.bench.models.rows import ModelRow
from sumpool.errors import is_out_of_memory
from sumpool.training.memory import available, peak

HEADROOM = 0.9
"""Share of the free memory that a benchmark may plan to use."""


@dataclass
class Climb:
    """What is known so far of one system at one work.

    Attributes:
        device: Where it runs.
        seconds: Of a repetition, by length.
        memory: Peak bytes, by length.
        least: Peak bytes with a document that takes next to nothing, such as those of gradients.
    """

    device: torch.device
    seconds: dict[int, float] = field(default_factory=dict)
    memory: dict[int, int] = field(default_factory=dict)
    least: int = 0

    def foresee(self, length: int) -> float:
        """Seconds of a repetition at a length: as measured, or as the last two grew; 0 if nothing is known."""
        if not self.seconds or length in self.seconds:
            return self.seconds.get(length, 0.0)
        *before, last = sorted(self.seconds)
        exponent = 1.0
        if before:
            grown = self.seconds[last] / max(self.seconds[before[-1]], 1e-9)
            exponent = math.log(max(grown, 1e-9)) / math.log(last / before[-1])
        growth: float = (length / last) ** min(max(exponent, 1.0), 2.0)
        return self.seconds[last] * growth

    def warm_up(self, run: Work) -> None:
        """Run twice with a short document: what libraries keep from their first call is no memory of a model."""
        with suppress(NotImplementedError, MemoryError):  # a first attempt will tell of either
            run()
            self.least = peak(run, self.device) or 0

    def attempt(self, run: Work, row: ModelRow) -> ModelRow:
        """Run once for memory and seconds, and the operations of a training step; or note why not.

        A length whose memory may not suffice is not tried: what a shorter one took, beyond what the shortest does,
        grows at most with the square.
        """
        if self.memory:
            last = max(self.memory)
            grown, free = max(0, self.memory[last] - self.least), available(self.device)
            needed = self.least + grown * (row.length / last) ** 2
            if needed > HEADROOM * free:
                return replace(row, note=f"may need {needed / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free")
        counted: list[int] = []
        taken: list[float] = []
        work = (lambda: counted.append(count(run))) if row.work == "train" else run
        try:
            memory = peak(lambda: taken.append(clock(work, self.device)), self.device)
        except NotImplementedError as error:
            return replace(row, note=str(error))
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            return replace(row, note="memory ended")
        self.seconds[row.length] = taken[0]
        if memory is not None:
            self.memory[row.length] = memory
        return replace(row, memory=memory, operations=counted[0] or None if counted else None)
